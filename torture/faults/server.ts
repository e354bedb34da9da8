import { SERVERS, type ServerName } from '../world/servers';
import { seconds, spell, wait, type Fault } from './fault';

const VERBS = {
  kill: { done: 'kill', by: 'crash' },
  restart: { done: 'stop', by: 'restart' },
  freeze: { done: 'freeze', by: 'freeze' },
} as const;

/** A whole server is away for a while: by a crash, in good order, or frozen with all its processes. */
export const serverFaults: Fault[] = SERVERS.flatMap((server) =>
  (Object.keys(VERBS) as (keyof typeof VERBS)[]).map((verb) => serverFault(server, verb)),
);

function serverFault(server: ServerName, verb: keyof typeof VERBS): Fault {
  const { done, by } = VERBS[verb];
  return {
    name: `${server}-${verb}`,
    ...(server === 'nats' && { backend: 'nats' as const }),
    aim: (random, scene) => {
      const ms = spell(random, scene);
      return {
        what: `${done} ${server} for ${seconds(ms)}`,
        strike: ({ servers }) => servers[by](server, wait(ms)),
      };
    },
  };
}
