import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../../src/servers/ports';
import { eventually } from '../../../test/support/eventually';
import { TestDiary } from './support/diary';
import { DiaryProcess } from './support/diaryProcess';

/** What belongs to the clients: their packages, Temporal's native core, and the package's entry that leads to them. */
const CLIENTS = {
  temporal: /node_modules\/@temporalio\//,
  'native core': /core-bridge.*\.node$/,
  nats: /node_modules\/(nats|@nats-io)\//,
  'main entry': /\/(dist|src)\/index\.[cm]?[jt]s$/,
};

/** Of the package or its dependencies. */
function clientsIn(files: readonly string[]): string[] {
  const own = files.filter((file) => !/node_modules\/(?!@temporalio|nats\/|@nats-io|temporal-outbox)/.test(file));
  return Object.entries(CLIENTS).flatMap(([name, pattern]) => (own.some((file) => pattern.test(file)) ? [name] : []));
}

describe('the server', () => {
  const directory = mkdtempSync(join(tmpdir(), 'movie-diary-alone-'));
  const processes: DiaryProcess[] = [];
  let diary: TestDiary;

  beforeAll(async () => {
    diary = await TestDiary.create({ EVENT_BUS_BACKEND: 'nats' });
  });
  afterAll(async () => {
    for (const one of processes) await one.stop('SIGKILL');
    await diary.close();
    rmSync(directory, { recursive: true });
  });

  async function start(entry: 'server' | 'worker', env: Record<string, string>): Promise<DiaryProcess> {
    const started = await DiaryProcess.start(entry, env, directory);
    processes.push(started);
    return started;
  }

  it('serves while NATS and Temporal are down, without either client loaded; a worker then handles it all', async () => {
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const settings = { ...diary.outbox.settings, DIARY_ORIGIN: origin, DIARY_PORT: String(port) };
    const closed = `127.0.0.1:${await freePort()}`;
    const server = await start('server', { ...settings, NATS_URL: `nats://${closed}`, TEMPORAL_ADDRESS: closed });

    const put = async (path: string, body?: object) => {
      const answer = await fetch(`${origin}${path}`, {
        method: 'PUT',
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      expect([201, 202]).toContain(answer.status);
    };
    const get = async <T>(path: string) => (await (await fetch(`${origin}${path}`)).json()) as T;
    await put('/users/ann', { displayName: 'Ann' });
    await put(`/users/ann/reviews/${randomUUID()}`, {
      ...{ film: { number: 900_001, title: 'The Third Man' }, rating: 9, comment: null, watchedOn: '2024-02-01' },
    });
    await put('/users/ann/watchlist/900002', { title: 'Odd Man Out' });
    await put('/users/ann/wrap-ups/2024');
    expect(await get('/users/ann/reviews')).toHaveLength(1);
    const events = await diary.events();
    expect(events.map(({ type }) => type)).toEqual([
      'UserRegistered',
      'MovieDiscovered',
      'ReviewLogged',
      'MovieDiscovered',
      'WatchlistEntryAdded',
      'WrapUpRequested',
    ]);
    expect(await diary.outbox.rowsByStatus()).toEqual({ pending: events.length });

    const loaded = await server.loaded();
    expect(loaded.filter((file) => file.endsWith('/dist/producer.js'))).not.toEqual([]);
    expect(clientsIn(loaded)).toEqual([]);

    const { url } = await diary.startProvider();
    const worker = await start('worker', {
      ...settings,
      METADATA_URL: url,
      OBJECT_STORE: pathToFileURL(join(directory, 'objects')).href,
    });
    // The same probe, where they are: it would have seen them.
    expect(clientsIn(await worker.loaded())).toEqual(Object.keys(CLIENTS));
    await diary.settled();
    expect(await get('/users/ann/wrap-ups/2024')).toMatchObject({ state: 'completed', summary: { reviews: 1 } });
    await eventually(async () => (await get<object[]>('/search?q=third')).length === 1);

    expect(await worker.stop()).toBe(0);
    expect(await server.stop()).toBe(0);
  }, 300_000);
});
