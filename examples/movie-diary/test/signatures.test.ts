import { generateKeyPairSync } from 'node:crypto';
import { sign, verify } from '../src/adapters/http/signature';
import { InvalidSignature, type HttpRequest } from '../src/ports/senders';

const SENDER = 'https://here.example/users/holly';
const MINUTE_MS = 60_000;

function keyPair() {
  return generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

const { publicKey, privateKey } = keyPair();
const actor = { keyId: `${SENDER}#main-key`, publicKey };
const unsigned: HttpRequest = {
  method: 'POST',
  url: 'https://there.example/users/harry/inbox',
  headers: { 'content-type': 'application/activity+json' },
  body: '{"type":"Like"}',
};

async function signed(key = { id: actor.keyId, privateKey }): Promise<HttpRequest> {
  return { ...unsigned, headers: await sign(unsigned, key) };
}

/** At another time than now; the clock alone is set, nothing else waits for it. */
async function signedAt(time: number): Promise<HttpRequest> {
  jest.useFakeTimers({ now: time, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'setTimeout'] });
  try {
    return await signed();
  } finally {
    jest.useRealTimers();
  }
}

const refused = (request: HttpRequest, by = actor) => expect(verify(request, by)).rejects;

it('what a sender signed is accepted from it', async () => {
  await expect(verify(await signed(), actor)).resolves.toBeUndefined();
});

it('a request is accepted as a server gets it, with headers of its own', async () => {
  const request = await signed();
  const headers = { host: 'there.example', 'user-agent': 'node', accept: ['*/*'], ...request.headers };
  await expect(verify({ ...request, headers }, actor)).resolves.toBeUndefined();
});

it('a request that is not signed is refused', async () => {
  const { headers, ...request } = await signed();
  const { 'content-digest': digest } = headers;
  await refused({ ...request, headers: { 'content-digest': digest } }).toThrow('The request is not signed');
});

it('a body that was altered is refused, with the old digest and with a new one', async () => {
  const request = await signed();
  const body = '{"type":"Block"}';
  await refused({ ...request, body }).toThrow('The content-digest is not the one of the body');
  const digest = (await sign({ ...unsigned, body }, { id: 'x', privateKey }))['content-digest'];
  const headers = { ...request.headers, 'content-digest': digest };
  await refused({ ...request, body, headers }).toThrow(InvalidSignature);
});

it.each([
  ['another path', { url: 'https://there.example/users/anna/inbox' }],
  ['another host', { url: 'https://elsewhere.example/users/harry/inbox' }],
  ['another method', { method: 'PUT' }],
])('a request that was signed for one address is refused at %s', async (_, changes) => {
  await refused({ ...(await signed()), ...changes }).toThrow('The signature does not fit the request and the key');
});

it('a signature by another key under the name of the actor’s is refused', async () => {
  const request = await signed({ id: actor.keyId, privateKey: keyPair().privateKey });
  await refused(request).toThrow('The signature does not fit the request and the key');
});

it('a key of another actor is refused, however good its signature', async () => {
  const request = await signed({ id: 'https://elsewhere.example/users/anna#main-key', privateKey });
  await refused(request).toThrow('The key of the signature is not one of the actor');
});

it('a signature of long ago is refused, and one of some minutes ago is not', async () => {
  await refused(await signedAt(Date.now() - 10 * MINUTE_MS)).toThrow('Signature is too old');
  await expect(verify(await signedAt(Date.now() - 4 * MINUTE_MS), actor)).resolves.toBeUndefined();
});

it('a signature of the future is refused, beyond what clocks may differ by', async () => {
  await refused(await signedAt(Date.now() + 10 * MINUTE_MS)).toThrow(InvalidSignature);
  await expect(verify(await signedAt(Date.now() + MINUTE_MS / 2), actor)).resolves.toBeUndefined();
});

it('a signature that covers less than the address and the body is refused', async () => {
  const request = await signed();
  const input = String(request.headers['signature-input']);
  const headers = { ...request.headers, 'signature-input': input.replace('"@target-uri" ', '') };
  await refused({ ...request, headers }).toThrow(InvalidSignature);
});

it('what only looks like a signature is refused', async () => {
  const request = await signed();
  for (const headers of [
    { ...request.headers, signature: 'sig=:AAAA:' },
    { ...request.headers, signature: ';;;' },
    { ...request.headers, 'signature-input': 'sig=1' },
    { ...request.headers, 'signature-input': undefined },
  ])
    await refused({ ...request, headers }).toThrow(InvalidSignature);
});
