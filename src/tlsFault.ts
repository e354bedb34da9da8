/** Codes of Node's TLS and of OpenSSL below it, each with what it says of the server or of our own files. */
const FAULTS: readonly (readonly [codes: RegExp, fault: string])[] = [
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, 'its certificate is not valid yet'],
  [/^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/, 'its certificate is for another name'],
  [
    /^(UNABLE_TO_\w*(ISSUER|VERIFY|SIGNATURE)\w*|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_(UNTRUSTED|REJECTED|REVOKED|SIGNATURE_FAILURE|CHAIN_TOO_LONG)|INVALID_(CA|PURPOSE)|PATH_LENGTH_EXCEEDED)$/,
    'its certificate is not signed by an authority that is trusted here',
  ],
  // What a server says of ours, as an alert.
  [
    /^ERR_SSL_\w*ALERT_(CERTIFICATE_\w+|BAD_CERTIFICATE\w*|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED|HANDSHAKE_FAILURE)$/,
    'it demands a client certificate that it trusts',
  ],
  [
    /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|HTTP_REQUEST|RECORD_LAYER_FAILURE)$/,
    'it does not speak TLS',
  ],
  [
    /^ERR_OSSL_(?!EVP_UNSUPPORTED$)\w+|^ERR_CRYPTO_\w+|^ERR_TLS_\w*(CERT|KEY|PEM)\w*$/,
    'certificate and key given cannot be used',
  ],
];

/**
 * What no waiting mends about a TLS handshake that failed, as the end of a sentence about the server; undefined when the
 * handshake is not what failed. Told by codes, since each library words its message anew.
 */
export function tlsFault(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; typeof at === 'object' && at !== null && depth < 5; depth++) {
    const { code, cause } = at as { code?: unknown; cause?: unknown };
    if (typeof code === 'string') {
      const found = FAULTS.find(([codes]) => codes.test(code));
      if (found) return found[1];
    }
    at = cause;
  }
  return undefined;
}
