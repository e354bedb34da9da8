import type { Trouble } from '../world/proxy';
import { SERVERS } from '../world/servers';
import { actorOf, seconds, spell, wait, type Fault } from './fault';

const KINDS = ['refused', 'silent', 'deaf', 'slow'] as const;

/** The way from one worker to one server is in trouble, or from all of them. Afterwards what is open may be reset. */
export const networkFaults: Fault[] = SERVERS.map((server) => ({
  name: `network-${server}`,
  ...(server === 'nats' && { backend: 'nats' as const }),
  aim: (random, scene) => {
    const index = random.chance(75) ? random.between(0, scene.workers - 1) : undefined;
    const kind = random.pick(KINDS);
    const trouble: Trouble = kind === 'slow' ? { kind, ms: random.between(50, 1_500) } : { kind };
    const ms = spell(random, scene);
    const reset = random.chance(50);
    const who = index === undefined ? 'all workers' : `worker ${index + 1}`;
    const how = trouble.kind === 'slow' ? `slow by ${trouble.ms} ms` : trouble.kind;
    return {
      what: `${server} ${how} for ${who} for ${seconds(ms)}${reset ? ', then reset' : ''}`,
      strike: async ({ workers, diary }) => {
        const struck = index === undefined ? workers : [actorOf(workers, index)];
        const ways = struck.map((actor) => actor.ways[server]);
        const of = index === undefined ? undefined : actorOf(workers, index).child.command.name;
        await diary.span(diary.outages, { server, kind: 'network', of }, async () => {
          for (const way of ways) way.begin(trouble);
          await wait(ms)();
          for (const way of ways) {
            way.heal();
            if (reset) way.reset();
          }
        });
      },
    };
  },
}));
