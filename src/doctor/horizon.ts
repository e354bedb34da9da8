import { readStreamInfo } from '../broker/streamState';
import type { Config } from '../config';
import { duration } from '../cli/output';
import { fault, ok, unknown, usesStream, warning, type Check, type Found } from './finding';

/** What the stream still holds can be delivered again; what the ledger has forgotten would then be handled again. */
export const horizon: Check = {
  name: 'dedup horizon',
  concerns: usesStream,
  look: async (patient) => {
    const { config } = patient;
    const { connection } = await patient.nats();
    const info = connection && (await readStreamInfo(connection, config.nats.stream));
    if (!info) return [unknown(`There is no stream ${config.nats.stream} to compare the ledger with.`)];
    return judge(Number(info.config.max_age) / 1e6, config.handling.retentionMs, config.nats);
  },
};

/** @param maxAgeMs 0: the stream keeps without an end */
export function judge(
  maxAgeMs: number,
  ledgerMs: number,
  { stream, duplicateWindowMs }: Pick<Config['nats'], 'stream' | 'duplicateWindowMs'>,
): Found[] {
  const ledger = `the ledger remembers ${duration(ledgerMs)}`;
  const found: Found[] = [];
  if (maxAgeMs === 0) {
    found.push(
      warning(
        `The stream has no max_age, and ${ledger}: an older event that is read again is handled again.`,
        `Give the stream an age below that of the ledger: nats stream edit ${stream} --max-age=${Math.max(1, Math.floor(ledgerMs / 2_000))}s`,
      ),
    );
  } else if (ledgerMs <= maxAgeMs) {
    found.push(
      fault(
        `The stream keeps ${duration(maxAgeMs)}, and ${ledger} only: an event that is delivered again after that is handled again.`,
        `Set OUTBOX_LEDGER_RETENTION_MS of all workers above ${maxAgeMs}, best to twice that.`,
      ),
    );
  } else found.push(ok(`The stream keeps ${duration(maxAgeMs)}, and ${ledger}.`));
  if (maxAgeMs > 0 && duplicateWindowMs > maxAgeMs) {
    found.push(
      warning(
        `The duplicate window of ${duration(duplicateWindowMs)} is longer than the stream keeps anything (${duration(maxAgeMs)}).`,
        `Set OUTBOX_DUPLICATE_WINDOW_MS to at most ${maxAgeMs}.`,
      ),
    );
  }
  return found;
}
