import { enqueue, event, events } from '../support/events';
import { eventually } from '../support/eventually';
import { atRest, verify } from './outcome';
import { CrashWorld, PATIENCE_MS } from './world';

/*
 * Frozen for longer than its lease while it runs two handlers. One is deaf to its signal, so that it goes on to its end
 * when it wakes, and it is the ledger alone that stops it; the other listens.
 */
it.concurrent.each(['db', 'nats'])(
  'backend %s: a worker that wakes after its lease commits no effect, aborts the signals of its handlers, changes nothing, and goes on',
  (backend) =>
    CrashWorld.during({ EVENT_BUS_BACKEND: backend }, async (world) => {
      const frozen = await world.worker();
      const { pid } = frozen.child;
      const [deaf = '', listening = ''] = await enqueue(world.db, [
        event({ type: 'InTransaction', aggregateId: 'a', payload: { until: 'go', deaf: true } }),
        event({ type: 'Outside', aggregateId: 'b', payload: { until: 'never' } }),
      ]);
      const ids = [deaf, listening];
      await eventually(() => ids.every((id) => world.entries(id).length > 0), PATIENCE_MS, 'handlers that run');
      frozen.child.kill('SIGSTOP');
      await world.worker();
      await atRest(world, ids);
      const before = await state(world);

      world.write('go', '');
      frozen.child.kill('SIGCONT');
      const said = (kind: string, id: string) =>
        world.journal().find((line) => line.kind === kind && line.pid === pid && line.eventId === id);
      await eventually(() => said('end', deaf), PATIENCE_MS, 'its handler that goes on');
      const signal = await eventually(() => said('signal', listening), PATIENCE_MS, 'its signal');
      expect(signal.reason).toMatch(/ledger/);

      const more = await enqueue(
        world.db,
        events(20, (n) => ({ aggregateId: `a${n}` })),
      );
      await atRest(world, [...ids, ...more]);
      await verify(world, { ids: more, deaths: [] });
      expect((await world.effects()).get(deaf)).toBe(1);
      for (const id of ids) expect(world.entries(id).map(({ attempt }) => attempt)).toEqual([1, 2]);
      expect((await state(world)).slice(0, before.length)).toEqual(before);
      expect(frozen.child.exitCode).toBeNull();
      expect(await frozen.kill('SIGTERM')).toBe(0);
    }),
  600_000,
);

/** What was settled, the oldest first. */
async function state({ db }: CrashWorld): Promise<unknown[]> {
  const { rows } = await db.query(
    `SELECT p.*, q.status AS row, q.attempts FROM :schema.processed_events p JOIN :schema.event_queue q USING (event_id)
      ORDER BY q.id, p.handler`,
  );
  return rows;
}
