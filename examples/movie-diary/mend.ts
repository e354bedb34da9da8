import type { Pool } from 'pg';
import { reemit, waitUntilHandled, type DeadLetter } from 'temporal-outbox';
import { deliveryRunPage } from './temporal';

/** Titles that the data set has lost, by film: read as data, the name of this film says that there is none. */
const LOST_TITLES: Readonly<Record<number, string>> = { 3054: 'Unknown' };
const SHOWN = 5;
const HANDLED_WITHIN_MS = 60_000;

export interface Mended {
  /** Handlers of events that gave up. */
  readonly died: number;
  /** Ids of events that were handed back, and then handled. */
  readonly reemitted: readonly string[];
}

/**
 * Does what a person would do about dead letters, and says so: reads the reason, mends the cause, hands the events back.
 *
 * @throws Error when a mended event is not handled
 */
export async function mend(
  pool: Pool,
  letters: readonly DeadLetter[],
  { posterUrl, uiUrl }: { posterUrl: string; uiUrl: string | undefined },
): Promise<Mended> {
  console.log(
    ['', `Dead letters, as \`npx outbox dead list\` shows them: ${letters.length}`, ...shown(letters)].join('\n'),
  );
  const eventIds = [...new Set(letters.map(({ eventId }) => eventId))];
  const [first] = eventIds;
  if (!first) return { died: 0, reemitted: [] };
  if (uiUrl) console.log(`  its failed delivery run: ${deliveryRunPage(uiUrl, first)}`);

  const lost = letters
    .map(({ aggregateId }) => Number(aggregateId.replace('movie-', '')))
    .filter((film) => LOST_TITLES[film]);
  const commands = lost.map((film) => `curl -X PUT ${posterUrl}/titles/${film} -d ${LOST_TITLES[film]}`);
  console.log('\nMended and handed back, as by this command:');
  console.log(`  ${[...commands, `npx outbox reemit ${eventIds.slice(0, SHOWN).join(' ')}`].join(' && ')}`);
  for (const film of lost) {
    const { ok, status } = await fetch(`${posterUrl}/titles/${film}`, { method: 'PUT', body: LOST_TITLES[film] ?? '' });
    if (!ok) throw new Error(`the poster service did not take the title of film ${film}: ${status}`);
  }
  const { revived } = await reemit(pool, eventIds);
  for (const eventId of revived) await waitUntilHandled(pool, eventId, { timeoutMs: HANDLED_WITHIN_MS });
  console.log(`  re-emitted and handled: ${revived.length} of ${eventIds.length}\n`);
  return { died: letters.length, reemitted: revived };
}

function shown(letters: readonly DeadLetter[]): string[] {
  return letters
    .slice(0, SHOWN)
    .map(
      ({ eventId, aggregateId, handler, attempts, reason }) =>
        `  ${eventId}  ${aggregateId}  ${handler ?? '(relay)'}, ${attempts} attempts: ${reason}`,
    );
}
