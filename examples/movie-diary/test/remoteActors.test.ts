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
    'did not answer',
  ],
  ['an error', (reply: ServerResponse) => reply.writeHead(500).end(), 'answered 500 instead of a document'],
  ['more than an actor can be', (reply: ServerResponse) => reply.end('x'.repeat(1_000_000)), 'more than'],
  ['nothing for ever', () => undefined, 'did not answer'],
])('an instance that answers with %s is refused', async (name, document, sentence) => {
  const path = `/users/${name.replaceAll(' ', '_')}`;
  there.documents.set(path, document);
  await refused(`${there.origin}${path}`).toThrow(sentence);
});

it.each(['ftp://there.example/users/harry', 'file:///etc/passwd', 'harry'])('%s names no actor', async (uri) => {
  await refused(uri).toThrow('must be one of http or https');
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
