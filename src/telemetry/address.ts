/** Where the metrics are served: a host, and the ports that are tried in turn. */
export interface MetricsAddress {
  readonly host: string;
  readonly firstPort: number;
  readonly lastPort: number;
}

/**
 * Loopback, since what is served needs no password. Ten ports, since several workers on one host are normal: the first
 * takes 9464, OpenTelemetry's port for this, and the next one the next.
 */
export const DEFAULT_METRICS_ADDRESS = '127.0.0.1:9464-9473';

export const METRICS_ADDRESS_FORM = 'must be host:port, host:firstport-lastport such as 127.0.0.1:9464-9473, or off';

const FORM = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})(?:-(\d{1,5}))?$/;

/** @returns undefined for what is no address; port 0 means any that is free */
export function parseMetricsAddress(text: string): MetricsAddress | undefined {
  const [, ipv6, name, first, last] = FORM.exec(text) ?? [];
  const host = ipv6 ?? name;
  const firstPort = Number(first);
  const lastPort = Number(last ?? first);
  if (host === undefined || lastPort > 65_535 || firstPort > lastPort) return undefined;
  return { host, firstPort, lastPort };
}
