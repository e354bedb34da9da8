import { writeEvent } from '../world/writeEvent';
import { seconds, spell, wait, type Fault } from './fault';

/** A transaction that writes an event and stays open: others with higher ids come and go before it commits. */
export const transactionLong: Fault = {
  name: 'transaction-long',
  needs: ['postgres', 'database'],
  aim: (random, scene) => {
    const ms = spell(random, scene);
    const n = random.between(0, 9_999);
    const commits = random.chance(75);
    return {
      what: `a transaction that is open for ${seconds(ms)} and ${commits ? 'commits' : 'rolls back'}`,
      strike: async (world) => {
        await writeEvent(world, { type: 'Placed', payload: { n }, commits }, wait(ms));
      },
    };
  },
};
