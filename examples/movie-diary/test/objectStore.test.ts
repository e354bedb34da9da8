import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rmdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../src/servers/ports';
import { openObjectStore } from '../src/adapters/objectStore/open';
import { S3ObjectStore } from '../src/adapters/objectStore/s3';
import { placeOf } from '../src/adapters/objectStore/url';
import type { ObjectStore } from '../src/ports/objectStore';
import { directoryStore, s3Store, type RunningStore } from './support/stores';

const TYPE = 'application/octet-stream';

describe.each([
  ['a directory', directoryStore],
  ['an S3 bucket', s3Store],
])('the object store in %s', (_, start) => {
  let running: RunningStore;
  let store: ObjectStore;

  beforeAll(async () => {
    running = await start();
    store = openObjectStore(running.url);
  });
  afterAll(() => running.close());

  it('gives back what was put, to the byte, and the last of it', async () => {
    const body = randomBytes(100_000);
    await store.put('round/trip.bin', randomBytes(200_000), TYPE);
    await store.put('round/trip.bin', body, TYPE);
    expect((await store.get('round/trip.bin'))?.equals(body)).toBe(true);
    expect(await store.has('round/trip.bin')).toBe(true);
  });

  it('keeps an object without content', async () => {
    await store.put('empty', new Uint8Array(), TYPE);
    expect(await store.get('empty')).toHaveLength(0);
    expect(await store.has('empty')).toBe(true);
  });

  it('knows nothing of what was never put', async () => {
    expect(await store.get('never/put')).toBeUndefined();
    expect(await store.has('never/put')).toBe(false);
    expect(await store.list('never/')).toEqual([]);
  });

  it('deletes, and counts what is not there as deleted', async () => {
    await store.put('gone/soon', Buffer.from('x'), TYPE);
    await store.delete('gone/soon');
    await store.delete('gone/soon');
    await store.delete('gone/never/there');
    expect(await store.get('gone/soon')).toBeUndefined();
    expect(await store.list('gone/')).toEqual([]);
  });

  it('takes a folder for no object', async () => {
    await store.put('folder/within/object', Buffer.from('x'), TYPE);
    await store.delete('folder/within');
    expect(await store.has('folder/within')).toBe(false);
    expect(await store.get('folder/within')).toBeUndefined();
    expect(await store.get('folder/within/object/below')).toBeUndefined();
    expect(await store.list('folder')).toEqual(['folder/within/object']);
  });

  it('lists the keys with a prefix, in their order', async () => {
    for (const key of ['list/b', 'list/a/2', 'list/a/1', 'list/ab', 'listless'])
      await store.put(key, Buffer.from(key), TYPE);
    expect(await store.list('list/')).toEqual(['list/a/1', 'list/a/2', 'list/ab', 'list/b']);
    expect(await store.list('list/a')).toEqual(['list/a/1', 'list/a/2', 'list/ab']);
    expect(await store.list('list/a/')).toEqual(['list/a/1', 'list/a/2']);
    expect(await store.list('')).toEqual(expect.arrayContaining(['list/b', 'listless']));
  });

  it.each([
    '',
    '/',
    '../outside',
    'a/../../outside',
    'a/..',
    './a',
    '/etc/passwd',
    'a//b',
    'a/',
    '.hidden',
    'a b',
    'ä',
    'a%2Fb',
  ])('refuses %j as a key, before anything is touched', async (key) => {
    for (const call of [
      () => store.put(key, Buffer.from('x'), TYPE),
      () => store.get(key),
      () => store.has(key),
      () => store.delete(key),
    ])
      await expect(call()).rejects.toThrow('cannot be the key of an object');
  });

  it('lists nothing outside of itself', async () => {
    await expect(store.list('../')).rejects.toThrow('No key begins with');
    await expect(store.list('/')).rejects.toThrow('No key begins with');
  });

  it('holds one whole object when several are put under one key at once', async () => {
    const bodies = Array.from({ length: 8 }, (_, index) => Buffer.alloc(50_000, index));
    await Promise.all(bodies.map((body) => store.put('contended', body, TYPE)));
    const found = await store.get('contended');
    expect(bodies.some((body) => found?.equals(body))).toBe(true);
  });

  it('does nothing for somebody who has given up', async () => {
    const signal = AbortSignal.abort(new Error('given up'));
    await expect(store.put('given/up', Buffer.from('x'), TYPE, signal)).rejects.toThrow('given up');
    await expect(store.list('given/', signal)).rejects.toThrow('given up');
    expect(await store.list('given/')).toEqual([]);
  });
});

describe('the object store in a directory', () => {
  it('shows nothing of what a killed writer has left, and removes it when it is old', async () => {
    const running = await directoryStore();
    const directory = fileURLToPath(running.url);
    await mkdir(join(directory, '.unfinished'));
    for (const name of ['old', 'new']) await writeFile(join(directory, '.unfinished', name), 'half');
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(join(directory, '.unfinished', 'old'), yesterday, yesterday);
    const store = openObjectStore(running.url);
    await store.put('a', Buffer.from('x'), TYPE);
    expect(await store.list('')).toEqual(['a']);
    expect(await readdir(join(directory, '.unfinished'))).toEqual(['new']);
    await running.close();
  });
});

describe('the object store in a directory that cannot be swept', () => {
  it('puts again as soon as it can be', async () => {
    const running = await directoryStore();
    const stray = join(fileURLToPath(running.url), '.unfinished', 'a folder');
    await mkdir(stray, { recursive: true });
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(stray, yesterday, yesterday);
    const store = openObjectStore(running.url);
    await expect(store.put('a', Buffer.from('x'), TYPE)).rejects.toThrow(/EISDIR/);
    await rmdir(stray);
    await store.put('a', Buffer.from('x'), TYPE);
    expect(await store.list('')).toEqual(['a']);
    await running.close();
  });
});

describe('the object store in an S3 bucket', () => {
  let running: RunningStore;

  beforeAll(async () => (running = await s3Store()));
  afterAll(() => running.close());

  it('lists page by page', async () => {
    const place = placeOf(running.url);
    const store = new S3ObjectStore({ ...(place && 'bucket' in place ? place.bucket : fail()), pageSize: 2 });
    const keys = ['p/1', 'p/2', 'p/3', 'p/4', 'p/5'];
    for (const key of keys) await store.put(key, Buffer.from(key), TYPE);
    expect(await store.list('p/')).toEqual(keys);
  });

  it('says that the bucket is not there, where it could seem to be without objects', async () => {
    const store = openObjectStore(running.url.replace('/diary', '/nowhere'));
    for (const call of [
      () => store.get('a'),
      () => store.has('a'),
      () => store.list(''),
      () => store.put('a', Buffer.from('x'), TYPE),
    ])
      await expect(call()).rejects.toThrow(/^The object store 127\.0\.0\.1:\d+\/nowhere answered 404/);
  });

  it('tells the secret to nobody', async () => {
    const wrong = running.url.replace('S3RVER:S3RVER', 'nobody:hunter2');
    const down = `s3+http://S3RVER:hunter2@127.0.0.1:${await freePort()}/diary`;
    for (const [url, why] of [
      [wrong, /answered 403 \(InvalidAccessKeyId\) to GET of a$/],
      [down, /could not be reached: ECONNREFUSED$/],
    ] as const) {
      const failed: unknown = await openObjectStore(url)
        .get('a')
        .catch((error: unknown) => error);
      expect(String((failed as Error).message)).toMatch(why);
      expect(JSON.stringify([String(failed), (failed as Error).stack, String((failed as Error).cause)])).not.toContain(
        'hunter2',
      );
    }
  });
});

function fail(): never {
  throw new Error('The store is no bucket');
}
