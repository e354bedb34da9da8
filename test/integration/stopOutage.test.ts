import { CrashWorld, PATIENCE_MS } from '../crash/world';
import { enqueue, event } from '../support/events';
import { eventually } from '../support/eventually';
import { unfinished } from '../support/handled';
import { OwnServers } from '../support/ownServers';

it.concurrent.each(['db', 'nats'])(
  'SIGTERM while Temporal is away lets the handler end that is at work, and its outcome is written; backend %s (C39)',
  async (backend) => {
    const own = new OwnServers();
    const temporal = await own.temporal();
    const settings = { EVENT_BUS_BACKEND: backend, TEMPORAL_ADDRESS: temporal.url };
    await CrashWorld.during({ ...settings, OUTBOX_LEDGER_LEASE_MS: '600000' }, async (world) => {
      const worker = await world.worker();
      const said = (text: string) => () => worker.logs.some((line) => line.includes(text));
      const [id = ''] = await enqueue(world.db, [event({ type: 'Outside', payload: { until: 'go' } })]);
      await eventually(() => world.entries(id).length === 1, PATIENCE_MS, 'a handler at work');
      await temporal.kill('SIGKILL');
      const ended = worker.kill('SIGTERM');
      await eventually(said('SIGTERM: stopping'), PATIENCE_MS, 'a worker that was told to stop');
      world.write('go', '');
      expect(await ended).toBe(0);
      const lines = world.journal().filter(({ eventId }) => eventId === id);
      expect(lines.map(({ kind }) => kind)).toEqual(['claiming', 'begin', 'end']);
      expect(await unfinished(world.db)).toEqual({ inProgress: 0, waiting: 0 });
      await temporal.start();
    });
    await own.close();
  },
  300_000,
);
