import { actorOf, type Fault } from './fault';

/** SIGKILL in the middle of whatever transactions are open. */
export const producerKill: Fault = {
  name: 'producer-kill',
  aim: (random, { producers }) => {
    const index = random.between(0, producers - 1);
    return {
      what: `kill producer ${index + 1}`,
      strike: ({ producers: all }) => actorOf(all, index).child.kill(),
    };
  },
};
