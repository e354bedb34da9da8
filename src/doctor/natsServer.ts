import { maskUrl } from '../mask';
import { fault, ok, usesNats, warning, type Check, type Found } from './finding';

export const natsServer: Check = {
  name: 'NATS',
  concerns: usesNats,
  look: async (patient) => {
    const { config } = patient;
    const { connection } = await patient.nats();
    const version = connection?.info?.version ?? 'of an unknown version';
    const where = `NATS ${version} at ${maskUrl(config.nats.url)}`;
    const found: Found[] = [judge(where, version, config.nats.mode)];
    const limit = connection?.info?.max_payload ?? Infinity;
    // What headers may take beside the largest payload.
    const needed = config.maxPayloadBytes + 16 * 1024;
    if (limit < needed) {
      found.push(
        warning(
          `The server takes messages of ${limit} bytes, and applications may enqueue up to ${needed}: what is larger becomes a dead letter.`,
          `Set max_payload of the server to ${needed}, or OUTBOX_MAX_PAYLOAD_BYTES of all applications to ${limit - 16 * 1024}.`,
        ),
      );
    }
    return found;
  },
};

function judge(where: string, version: string, mode: 'jetstream' | 'core'): Found {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const before = (least: number) => major < 2 || (major === 2 && minor < least);
  if (mode === 'core') return ok(`${where} answers.`);
  if (before(10)) return fault(`${where} is older than 2.10.`, 'Upgrade it to 2.12 or newer.');
  if (before(12)) return warning(`${where} answers, and is older than 2.12: backlogs go out one by one.`, 'Upgrade it to 2.12 or newer.'); // prettier-ignore
  return ok(`${where} answers.`);
}
