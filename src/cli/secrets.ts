import { MASK, maskUrl } from '../mask';

/** Of Temporal's variables these say where and how; what is not known to be harmless (keys, metadata) is masked. */
const HARMLESS =
  /^TEMPORAL_(ADDRESS|NAMESPACE|PROFILE|CONFIG_FILE|TLS|TLS_\w+_PATH|TLS_SERVER_NAME|TLS_DISABLE_HOST_VERIFICATION|CODEC_ENDPOINT|UI_URL)$/;

/** The value of one of Temporal's variables, as it may be shown. */
export function maskedTemporal(variable: string, value: string): string {
  if (!HARMLESS.test(variable)) return MASK;
  return value.includes('://') ? maskUrl(value) : value;
}
