import type { Database } from '../../src/postgres/database';
import { insist, seconds, spell, wait, type Fault } from './fault';

/** The database can only be read, as a primary that was demoted: every session, from its next transaction on. */
export const databaseReadOnly: Fault = {
  name: 'database-readonly',
  needs: ['postgres'],
  aim: (random, scene) => {
    const ms = spell(random, scene);
    return {
      what: `the database is read-only for ${seconds(ms)}`,
      strike: async ({ db, diary }) => {
        await diary.span(diary.outages, { server: 'postgres', kind: 'writes' }, async () => {
          try {
            await set(db, 'SET default_transaction_read_only = on');
            await wait(ms)();
          } finally {
            await insist(() => set(db, 'RESET default_transaction_read_only'));
          }
        });
      },
    };
  },
};

async function set(db: Database, what: string): Promise<void> {
  await db.query(`ALTER SYSTEM ${what}`);
  await db.query('SELECT pg_reload_conf()');
}
