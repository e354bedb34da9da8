import type { World } from '../world/world';
import { insist, seconds, spell, wait, type Fault } from './fault';

/** The stream takes no message more (`max_msgs`, `discard: new`), and then it does again. */
export const streamFull: Fault = {
  name: 'stream-full',
  backend: 'nats',
  needs: ['nats'],
  aim: (random, scene) => {
    const ms = spell(random, scene);
    return {
      what: `the stream is full for ${seconds(ms)}`,
      strike: async (world) => {
        try {
          await limit(world, 'full');
          await wait(ms)();
        } finally {
          await insist(() => limit(world, 'none'));
        }
      },
    };
  },
};

async function limit(world: World, to: 'full' | 'none'): Promise<void> {
  const { stream } = world.config.nats;
  await world.withJetStream(async (manager) => {
    const { config, state } = await manager.streams.info(stream);
    const max_msgs = to === 'full' ? Math.max(1, state.messages) : -1;
    await manager.streams.update(stream, { ...config, max_msgs, discard: to === 'full' ? 'new' : 'old' });
  });
}
