import { grant, ROLES } from '../world/tables';
import { insist, seconds, spell, wait, type Fault } from './fault';

const TAKEN = [
  'UPDATE ON :schema.event_queue',
  'SELECT ON :schema.event_queue',
  'INSERT ON :schema.processed_events',
  'UPDATE ON :schema.processed_events',
  'INSERT, UPDATE ON :schema.deliveries',
  'UPDATE ON :schema.relay_fence',
  'USAGE ON SCHEMA :schema',
];

/** Somebody takes a privilege from the workers' role, and gives it back. */
export const privilegesTaken: Fault = {
  name: 'privileges-taken',
  needs: ['postgres', 'database'],
  aim: (random, scene) => {
    const taken = random.pick(TAKEN);
    const ms = spell(random, scene);
    return {
      what: `no ${taken.replace(':schema.', '')} for ${seconds(ms)}`,
      strike: async ({ db, diary }) => {
        await diary.span(diary.outages, { server: 'postgres', kind: 'writes' }, async () => {
          try {
            await db.query(`REVOKE ${taken} FROM ${ROLES.worker}`);
            await wait(ms)();
          } finally {
            await insist(() => grant(db));
          }
        });
      },
    };
  },
};
