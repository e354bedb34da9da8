import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { sign } from '../src/adapters/http/signature';
import { HttpRemoteActors } from '../src/adapters/http/remoteActors';
import { HttpSenders } from '../src/adapters/http/senders';
import { PostgresStoredActors } from '../src/adapters/postgres/remoteActors';
import { InvalidSignature } from '../src/ports/senders';
import { TestDiary } from './support/diary';
import { RemoteInstance } from './support/remoteInstance';

let diary: TestDiary;
let there: RemoteInstance;
let actors: HttpRemoteActors;

beforeAll(async () => {
  diary = await TestDiary.create();
  there = await RemoteInstance.start();
  diary.outbox.onClose(() => there.close());
  actors = new HttpRemoteActors(new PostgresStoredActors(diary.connection));
});
afterAll(() => diary.close());

const refused = (uri: string) => expect(actors.resolve(uri)).rejects;

it('an actor is asked for once, and remembered', async () => {
  const { id, inbox, publicKey, name } = there.actor('harry');
  for (let round = 0; round < 2; round++)
    expect(await actors.resolve(id)).toEqual({
      uri: id,
      inbox,
      keyId: publicKey.id,
      publicKey: publicKey.publicKeyPem,
      displayName: name,
      movedTo: null,
    });
  expect(there.gets.get('/users/harry')).toBe(1);
});

it('an actor may have whatever name a user here may have', async () => {
  const { id } = there.actor('emoji', { name: '🎬'.repeat(60) });
  expect((await actors.resolve(id)).displayName).toBe('🎬'.repeat(60));
});

it.each<[string, object]>([
  ['NUL in its name', { name: 'a\0b' }],
  ['half a character in its name', { name: '\ud83d' }],
  ['a version that no column holds', { version: 2_147_483_648 }],
])('an actor with %s is refused before it is stored', async (_, changes) => {
  const { id } = there.actor(`a${randomUUID().slice(0, 8)}`, changes);
  await refused(id).toThrow('a document that is not an actor’s');
});

it('an actor with NUL in its key is refused before it is stored', async () => {
  const { id, publicKey } = there.actor('key');
  there.actor('key', { publicKey: { ...publicKey, publicKeyPem: 'a\0b' } });
  await refused(id).toThrow('a document that is not an actor’s');
});

it('a document that lies about whose it is, is not believed, and not stored', async () => {
  const harry = there.actor('victim');
  there.documents.set('/users/liar', harry);
  const liar = `${there.origin}/users/liar`;
  await refused(liar).toThrow('another actor than the one that was asked for');
  expect(await new PostgresStoredActors(diary.connection).find(liar)).toBeUndefined();
});

it('an actor with the key of another, or an inbox on another host, is not believed', async () => {
  const { publicKey } = there.actor('victim');
  const borrower = there.actor('borrower', { publicKey });
  await refused(borrower.id).toThrow('an actor whose key or inbox is not its own');
  const sender = there.actor('sender', { inbox: 'http://127.0.0.1:9/inbox' });
  await refused(sender.id).toThrow('an actor whose key or inbox is not its own');
});

it.each<[string, unknown, string]>([
  ['something else', { hello: 'world' }, 'a document that is not an actor’s'],
  ['no JSON', (reply: ServerResponse) => reply.end('<html>'), 'something that is not JSON'],
  [
    'a redirection',
    (reply: ServerResponse) => reply.writeHead(302, { location: '/users/harry' }).end(),
    'could not be reached',
  ],
  ['an error', (reply: ServerResponse) => reply.writeHead(500).end(), 'answered 500 instead of a document'],
  ['more than an actor can be', (reply: ServerResponse) => reply.end('x'.repeat(1_000_000)), 'more than'],
  ['nothing for ever', () => undefined, 'gave no answer within'],
])('an instance that answers with %s is refused', async (name, document, sentence) => {
  const path = `/users/${name.replaceAll(' ', '_')}`;
  there.documents.set(path, document);
  await refused(`${there.origin}${path}`).toThrow(sentence);
});

it.each(['ftp://there.example/users/harry', 'file:///etc/passwd', 'harry'])('%s names no actor', async (uri) => {
  await refused(uri).toThrow('must be one of http or https');
});

/** As if the actor had not been asked for lately. */
async function longAgo(uri: string): Promise<void> {
  await diary.pool.query(`UPDATE remote_actors SET fetched_at = fetched_at - interval '1 hour' WHERE uri = $1`, [uri]);
}

it.each<[string, (headers: Record<string, string>) => Record<string, string>]>([
  ['is not signed', (headers) => ({ ...headers, 'signature-input': '' })],
  ['has another body than its digest says', (headers) => ({ ...headers, 'content-digest': 'sha-256=:AAAA:' })],
  [
    'names the key of somebody else',
    (headers) => ({ ...headers, 'signature-input': headers['signature-input']!.replace(/\/users\/[^#]*/, '/users/x') }),
  ],
  [
    'was signed long ago',
    (headers) => ({
      ...headers,
      'signature-input': headers['signature-input']!.replace(/created=\d+/, 'created=1700000000'),
    }),
  ],
])('nobody is asked for a key on behalf of a request that %s', async (_, changed) => {
  const senders = new HttpSenders(actors);
  const { id, publicKey, privateKey, preferredUsername } = there.actor(`a${randomUUID().slice(0, 8)}`);
  const unsigned = { method: 'POST', url: `${diary.origin}/users/holly/inbox`, headers: {}, body: '{}' };
  const headers = await sign(unsigned, { id: publicKey.id, privateKey });
  const request = { ...unsigned, headers: changed(headers) };
  await expect(senders.verify(request, id)).rejects.toThrow(InvalidSignature);
  expect(there.gets.get(`/users/${preferredUsername}`)).toBeUndefined();
});

it('however many requests have a signature that does not fit, their actor is asked for once in a while', async () => {
  const senders = new HttpSenders(actors);
  const { id, publicKey } = there.actor('flooded');
  const { privateKey } = there.actor('other');
  const unsigned = { method: 'POST', url: `${diary.origin}/users/holly/inbox`, headers: {}, body: '{}' };
  const headers = await sign(unsigned, { id: publicKey.id, privateKey });
  const flood = () => Promise.allSettled(Array.from({ length: 5 }, () => senders.verify({ ...unsigned, headers }, id)));
  await actors.resolve(id);
  await flood();
  await longAgo(id);
  expect((await flood()).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
  expect(there.gets.get('/users/flooded')).toBe(2);
});

it('a sender who has another key by now is asked for it once, and anybody else’s is refused', async () => {
  const senders = new HttpSenders(actors);
  const old = there.actor('rotating');
  const unsigned = { method: 'POST', url: `${diary.origin}/users/holly/inbox`, headers: {}, body: '{}' };
  const by = async (privateKey: string) => ({
    ...unsigned,
    headers: await sign(unsigned, { id: old.publicKey.id, privateKey }),
  });
  expect((await senders.verify(await by(old.privateKey), old.id)).uri).toBe(old.id);
  const { privateKey, publicKey } = there.actor('rotating');
  await expect(senders.verify(await by(privateKey), old.id)).rejects.toThrow(InvalidSignature);
  expect(there.gets.get('/users/rotating')).toBe(1);
  await longAgo(old.id);
  const { publicKey: now } = await senders.verify(await by(privateKey), old.id);
  expect(now).toBe(publicKey.publicKeyPem);
  expect(there.gets.get('/users/rotating')).toBe(2);
  await expect(senders.verify(await by(old.privateKey), old.id)).rejects.toThrow(InvalidSignature);
});

it('what is stored of a later version stays', async () => {
  const stored = new PostgresStoredActors(diary.connection);
  const { id } = there.actor('renamed', { name: 'Second', version: 2 });
  const second = await actors.resolve(id);
  await stored.save({ ...second, displayName: 'First' }, 1);
  expect((await stored.find(id))?.displayName).toBe('Second');
});
