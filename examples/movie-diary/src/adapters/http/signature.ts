import { createHash } from 'node:crypto';
import { createSigner, createVerifier, httpbis, VerificationError } from 'http-message-signatures';
import type { RemoteActor } from '../../ports/remoteActors';
import type { SigningKey } from '../../ports/inboxes';
import { InvalidSignature, type HttpRequest } from '../../ports/senders';

/**
 * The method, where it goes to the host and the path, and through its digest the body: a signature that covers less could
 * be put on another request. An actor's key says whose it is, so the name of the sender need not be signed too.
 */
const COVERED = ['@method', '@target-uri', 'content-digest'];
const PARAMETERS = ['created', 'keyid', 'alg'];
/** How long a request may be on its way. A repeat within it is known by its activity's id, not by its signature. */
const MAX_AGE_S = 300;
/** Two hosts' clocks may differ by so much. */
const TOLERANCE_S = 60;

/** Signs as RFC 9421 has it, with Ed25519. @returns the headers, with the three that make the signature */
export async function sign(request: HttpRequest, key: SigningKey): Promise<Record<string, string>> {
  const headers = { ...flat(request.headers), 'content-digest': digestOf(request.body) };
  const signer = createSigner(key.privateKey, 'ed25519', key.id);
  const message = { method: request.method, url: new URL(request.url).href, headers };
  const signed = await httpbis.signMessage({ key: signer, fields: COVERED, params: PARAMETERS }, message);
  return flat(signed.headers);
}

/**
 * Everything but the signature's own fit, for which the actor's key is needed.
 *
 * @throws InvalidSignature which names the first thing that is wrong
 */
export function precheck(request: HttpRequest, actor: string): Promise<void> {
  return check(
    request,
    (keyid) => keyid.startsWith(`${actor}#`),
    () => () => Promise.resolve(true),
  );
}

/**
 * Checks that the holder of this actor's key has sent exactly this, to exactly here, a short while ago.
 *
 * @throws InvalidSignature which names the first thing that is wrong
 */
export async function verify(request: HttpRequest, actor: Pick<RemoteActor, 'keyId' | 'publicKey'>): Promise<void> {
  await check(
    request,
    (keyid) => keyid === actor.keyId,
    () => createVerifier(actor.publicKey, 'ed25519'),
  );
}

async function check(
  request: HttpRequest,
  isOfActor: (keyid: string) => boolean,
  verifier: () => (data: Buffer, signature: Buffer) => Promise<boolean | null>,
): Promise<void> {
  const headers = flat(request.headers);
  if (headers['content-digest'] !== digestOf(request.body))
    throw new InvalidSignature('The content-digest is not the one of the body');
  let otherKey = false;
  const valid = await httpbis
    .verifyMessage(
      {
        keyLookup: ({ keyid }) => {
          otherKey = typeof keyid !== 'string' || !isOfActor(keyid);
          return Promise.resolve(otherKey ? null : { id: keyid ?? '', algs: ['ed25519'], verify: verifier() });
        },
        requiredFields: COVERED,
        requiredParams: PARAMETERS,
        // The library takes the tolerance off it.
        maxAge: MAX_AGE_S + TOLERANCE_S,
        tolerance: TOLERANCE_S,
        all: true,
      },
      { method: request.method, url: new URL(request.url).href, headers },
    )
    .catch((error: unknown) => {
      if (otherKey) throw new InvalidSignature('The key of the signature is not one of the actor');
      if (error instanceof VerificationError) throw new InvalidSignature(error.message);
      throw new InvalidSignature('The signature cannot be read');
    });
  if (valid === null) throw new InvalidSignature('The request is not signed');
  if (!valid) throw new InvalidSignature('The signature does not fit the request and the key');
}

/** RFC 9530. */
function digestOf(body: string): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}

/** One value for each name, in lower case, as they are compared. */
function flat(headers: HttpRequest['headers']): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return Object.fromEntries(entries);
}
