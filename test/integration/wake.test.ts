import { openDatabase } from '../../src/postgres/database';
import { WakeListener } from '../../src/postgres/wake';
import { cloneDatabase, type TestDatabase } from '../support/database';
import { enqueue, events } from '../support/events';
import { eventually } from '../support/eventually';
import { TestOutbox } from '../support/outbox';
import { Proxy } from '../support/proxy';

/** What a busy machine adds. */
const BUSY_MS = process.env.OUTBOX_TEST_LONG === 'on' ? 0 : 18_000;

describe('the wake-up listener', () => {
  let database: TestDatabase;
  let proxy: Proxy;
  beforeAll(async () => {
    database = await cloneDatabase();
    proxy = await Proxy.to(database.url);
  });
  afterAll(async () => {
    await proxy.close();
    await database.drop();
  });

  it('listens again after both its connections were lost at any moment of its proof (C38)', async () => {
    const db = openDatabase({ url: proxy.url(database.url), schema: database.schema, poolSize: 1 });
    const wake = new WakeListener({ url: proxy.url(database.url), db, proveEveryMs: 60_000 });
    wake.start();
    for (let time = 0; time < 5; time++) {
      await eventually(() => wake.proven, undefined, 'a proven listener');
      // From here on a proof is always under way: it is begun by every connection, and this one is cut in the middle.
      const seen = proxy.connections;
      proxy.takeAway();
      proxy.giveBack();
      await eventually(() => proxy.connections > seen, undefined, 'another connection');
      proxy.takeAway();
      proxy.giveBack();
    }
    await eventually(() => wake.proven, undefined, 'a proven listener');
    const seen = wake.count;
    await enqueue(database.db, events(1));
    await eventually(() => wake.count > seen);
    await wake.close();
    await db.close();
  });
});

it('a worker told to stop ends with exit code 0 within its grace and 5 s, though PostgreSQL says nothing any more (C39)', async () => {
  const outbox = await TestOutbox.create();
  const proxy = await Proxy.to(outbox.database.url);
  outbox.onClose(() => proxy.close());
  const graceMs = 2_000;
  const worker = await outbox.spawnWorker({
    DATABASE_URL: proxy.url(outbox.database.url),
    OUTBOX_SHUTDOWN_GRACE_MS: `${graceMs}`,
  });
  await enqueue(outbox.db, events(10));
  await outbox.allDone();
  proxy.silence();
  await enqueue(outbox.db, events(10));
  // Its next look at the outbox is a statement that nobody will answer.
  await eventually(() => proxy.swallowed > 0, undefined, 'a statement without an answer');
  const began = performance.now();
  expect(await worker.kill('SIGTERM')).toBe(0);
  // A worker that waited for an answer would wait for 30 s.
  expect(performance.now() - began).toBeLessThan(graceMs + 5_000 + BUSY_MS);
  await outbox.close();
}, 90_000);
