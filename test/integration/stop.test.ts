import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { atRest } from '../crash/outcome';
import { CrashWorld, PATIENCE_MS } from '../crash/world';
import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { unfinished } from '../support/handled';
import { TestOutbox, type Settings } from '../support/outbox';

/** What a busy machine adds. Whatever waited for a lease would wait for ten minutes. */
const BUSY_MS = process.env.OUTBOX_TEST_LONG === 'on' ? 0 : 20_000;
const GRACE_MS = 10_000;
/** Whatever a stopped worker does not give back is nobody's for ten minutes; one handler at a time. */
const NOTHING_RUNS_OUT: Settings = {
  OUTBOX_CONCURRENCY: '1',
  OUTBOX_SHUTDOWN_GRACE_MS: `${GRACE_MS}`,
  OUTBOX_ACK_WAIT_MS: '600000',
  OUTBOX_LEDGER_LEASE_MS: '600000',
  OUTBOX_BACKOFF_FIRST_MS: '600000',
  OUTBOX_BACKOFF_MAX_MS: '600000',
};

it.concurrent.each(['db', 'nats'])(
  'SIGTERM, sent twice, lets the handler end that is at work, begins no other, and the next worker begins the rest at once; backend %s (C39)',
  (backend) =>
    CrashWorld.during({ EVENT_BUS_BACKEND: backend, ...NOTHING_RUNS_OUT }, async (world) => {
      const begun = (pid?: number) => world.journal().filter((line) => line.kind === 'begin' && line.pid === pid);
      const first = await world.worker();
      const ids = await enqueue(
        world.db,
        events(50, (n) => ({ type: 'Outside', aggregateId: `a${n}`, payload: { ms: n === 0 ? 3_000 : 10 } })),
      );
      await eventually(() => begun(first.child.pid).length === 1, PATIENCE_MS, 'the slow one at work');
      const asked = performance.now();
      first.child.kill('SIGTERM');
      expect(await first.kill('SIGTERM')).toBe(0);
      expect(performance.now() - asked).toBeLessThan(GRACE_MS + 5_000 + BUSY_MS);
      expect(begun(first.child.pid).map(({ eventId }) => eventId)).toEqual([ids[0]]);
      expect(world.journal().filter(({ kind }) => kind === 'end')).toMatchObject([{ eventId: ids[0] }]);
      expect(await unfinished(world.db)).toEqual({ inProgress: 0, waiting: 0 });
      if (backend === 'db') expect(await world.outbox.rowsByStatus()).toEqual({ done: 1, pending: 49 });

      const next = await world.worker();
      const ready = Date.now();
      await atRest(world, ids);
      expect(begun(next.child.pid)[0]!.at - ready).toBeLessThan(5_000 + BUSY_MS);
      expect(ids.map((id) => world.entries(id).map(({ attempt }) => attempt))).toEqual(ids.map(() => [1]));
    }),
  300_000,
);

it.concurrent.each(['db', 'nats'])(
  'SIGTERM ends a worker within its grace and 5 s though its handlers take no notice, and the next handles what they had; backend %s (C39)',
  (backend) =>
    CrashWorld.during({ EVENT_BUS_BACKEND: backend, OUTBOX_SHUTDOWN_GRACE_MS: `${GRACE_MS}` }, async (world) => {
      const first = await world.worker();
      // One of each kind; they end with their process only.
      const [id = ''] = await enqueue(world.db, [event({ payload: { until: 'go', deaf: true } })]);
      await eventually(() => world.entries(id).length === 2, PATIENCE_MS, 'both handlers at work');
      const asked = performance.now();
      expect(await first.kill('SIGTERM')).toBe(0);
      expect(performance.now() - asked).toBeLessThan(GRACE_MS + 5_000 + BUSY_MS);
      expect(world.journal().filter(({ kind }) => kind === 'end')).toEqual([]);
      // What may have had its effect is left to its lease; what can have none is free at once.
      const { rows } = await world.db.query('SELECT handler, status FROM :schema.processed_events');
      expect(rows).toEqual([{ handler: 'external', status: 'in_progress' }]);
      if (backend === 'db') expect(await world.outbox.rowsByStatus()).toEqual({ pending: 1 });

      world.write('go', '');
      await world.worker();
      await atRest(world, [id]);
      expect(await world.effects()).toEqual(new Map([[id, 1]]));
      // The one that was left counts as lost with its worker, which is an attempt.
      const ended = world.journal().filter(({ kind }) => kind === 'end');
      expect(new Map(ended.map(({ handler, attempt }) => [handler, attempt]))).toEqual(
        new Map([
          ['transactional', 1],
          ['external', 2],
        ]),
      );
      expect(ended).toHaveLength(2);
    }),
  300_000,
);

const NEW_PIDS = ['--pid', '--fork', '--kill-child'];
const mayHaveOwnPids = spawnSync('unshare', [...NEW_PIDS, 'true']).status === 0;

// Only who may make a namespace of processes can; elsewhere it is skipped.
(mayHaveOwnPids ? it : it.skip)('SIGTERM ends a worker that is process 1, as in a container without an init (C39)', async () => {
  const outbox = await TestOutbox.create();
  try {
    const worker = await outbox.spawnWorker({}, { through: ['unshare', ...NEW_PIDS] });
    await enqueue(outbox.db, [event()]);
    await outbox.allDone();
    const { pid } = worker.child;
    const [inside = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    expect(readFileSync(`/proc/${inside}/status`, 'utf8')).toMatch(/^NSpid:\s+\d+\s+1$/m);
    const asked = performance.now();
    process.kill(Number(inside), 'SIGTERM');
    expect(await worker.exited).toBe(0);
    expect(performance.now() - asked).toBeLessThan(outbox.config().worker.shutdownGraceMs + 5_000 + BUSY_MS);
  } finally {
    await outbox.close();
  }
}); // prettier-ignore
