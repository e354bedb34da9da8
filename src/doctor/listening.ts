import { WakeListener } from '../postgres/wake';
import { listenSetting } from '../config';
import { maskUrl } from '../mask';
import { ok, warning, type Check } from './finding';

/** Longer than a listener takes to connect and to prove itself, or to say why it cannot. */
const TIMEOUT_MS = 8_000;

export const listening: Check = {
  name: 'wake-ups',
  look: async ({ config, db }) => {
    const where = `the listening connection to ${maskUrl(config.listenUrl)}`;
    // A pool that cannot connect would be told as a notification that never came.
    await db.query('/* outbox: ping */ SELECT 1');
    let listener: WakeListener | undefined;
    const reason = await new Promise<string | null>((resolve) => {
      const timer = setTimeout(() => resolve(listener?.proven ? null : 'nothing came back in time'), TIMEOUT_MS);
      listener = new WakeListener({
        url: config.listenUrl,
        setting: listenSetting(config),
        db,
        proveEveryMs: 60_000,
        onChange: (proven, why) => {
          clearTimeout(timer);
          resolve(proven ? null : why);
        },
      });
      listener.start();
    });
    await listener?.close();
    if (reason === null) return [ok(`A notification over ${where} came back.`)];
    return [
      warning(
        `No notification comes over ${where} (${reason}), so workers poll every ${config.relay.unprovenPollMs} ms.`,
        'Set OUTBOX_LISTEN_URL to a direct connection, past any pooler.',
      ),
    ];
  },
};
