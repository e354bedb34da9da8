import { maskUrl } from '../mask';

const MASK = '***';

/**
 * A URL, or a list of them, without its secrets. What could be read in two ways is masked whole: a password may hold a
 * comma, a slash or an @ that nobody encoded, and half of it would then pass for a host.
 */
export function maskedUrl(urls: string): string {
  return urls
    .split(/,(?=\s*[a-z+]+:\/\/)/i)
    .map((url) => (/[,/?#@].*@/s.test(url.trim().replace(/^[a-z+]+:\/\//i, '')) ? MASK : maskUrl(url)))
    .join(',');
}

/** Of Temporal's variables these say where and how; what is not known to be harmless (keys, metadata) is masked. */
const HARMLESS =
  /^TEMPORAL_(ADDRESS|NAMESPACE|PROFILE|CONFIG_FILE|TLS|TLS_\w+_PATH|TLS_SERVER_NAME|TLS_DISABLE_HOST_VERIFICATION|CODEC_ENDPOINT)$/;

/** The value of one of Temporal's variables, as it may be shown. */
export function maskedTemporal(variable: string, value: string): string {
  if (!HARMLESS.test(variable)) return MASK;
  return value.includes('://') ? maskedUrl(value) : value;
}
