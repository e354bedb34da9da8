import type { Command } from 'commander';
import { time, uuid } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { CommandFailure, wrongUse } from '../cli/failure';
import { counted, note, print, printJson } from '../cli/output';
import { connectRelay, RelayAbsentError, type RelayLink } from '../cli/relay';
import { addManual } from '../cli/manual';
import { noteIfUnknown } from '../cli/unknownHandler';
import { DATABASE, TEMPORAL } from '../cli/variables';
import { loadConfig, type Config } from '../config';
import { reemit } from '../deadLetters/reemit';
import { reemitAll } from '../deadLetters/reemitAll';
import {
  reemitAllUpdate,
  reemitUpdate,
  statusQuery,
  type DeadLetterFilter,
  type ReemitAllResult,
  type ReemitResult,
} from '../workflows/messages';

/** Whether a relay is there at all is known within a moment; without one the database does just as well. */
const QUERY_TIMEOUT_MS = 5_000;
/** A million dead letters take most of a minute, and the count is part of the answer. */
const TIMEOUT_MS = 600_000;
/** Ids of one request: well below Temporal's limit on a payload. */
const CHUNK = 1_000;

interface ReemitOptions {
  all?: boolean;
  type?: string;
  handler?: string;
  company?: string;
  since?: string;
  json?: boolean;
}

export function addReemit(program: Command): void {
  const verb = program
    .command('reemit')
    .summary('hand dead letters back with a fresh budget')
    .description(
      'Hands dead letters back with no attempts spent: what the relay gave up is pending again, what handlers gave up is handled again by them, and by them only. Goes through the relay; when Temporal or the relay is away, directly through the database, and says so. Asking twice is harmless: what is not a dead letter is not changed.',
    )
    .argument('[ids...]', 'event ids, as `outbox dead list` shows them')
    .option('--all', 'every dead letter, or every one that the filters let through')
    .option('--type <event type>', 'with --all: only events of this type')
    .option('--handler <name>', 'only what this handler gave up')
    .option('--company <uuid>', 'with --all: only events of this tenant', uuid)
    .option(
      '--since <time>',
      'with --all: only what died at this time or later (ISO 8601, UTC unless it names a zone)',
      time,
    )
    .option('--json', 'print the result as JSON')
    .action(runReemit);
  addManual(verb, {
    environment: [...DATABASE, ...TEMPORAL],
    exits: { 0: 'all of them are revived', 1: 'an id was not revived, and stderr says why; the others are' },
    examples: [
      ['outbox reemit 5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11', 'one event'],
      ['outbox reemit --all --type OrderPlaced --since 2026-07-01', 'all of a type that died since'],
      ['outbox reemit --all --handler send-mail', 'all that one handler gave up'],
    ],
    seeAlso: ['dead list', 'skip', 'show'],
  });
}

async function runReemit(ids: string[], options: ReemitOptions): Promise<void> {
  const filter: DeadLetterFilter = {
    ...(options.type !== undefined && { eventType: options.type }),
    ...(options.handler !== undefined && { handler: options.handler }),
    ...(options.company !== undefined && { companyId: options.company }),
    ...(options.since !== undefined && { since: options.since }),
  };
  if (options.all && ids.length > 0) throw wrongUse('Give either event ids or --all, not both.');
  if (!options.all && ids.length === 0) throw wrongUse('Say which: give event ids, or --all.');
  const { handler, ...others } = filter;
  if (!options.all && Object.keys(others).length > 0) throw wrongUse('--type, --company and --since go with --all.');

  const config = loadConfig();
  if (options.all) await reviveAll(config, filter, options);
  else await revive(config, ids, handler, options);
}

async function revive(
  config: Config,
  ids: readonly string[],
  handler: string | undefined,
  options: ReemitOptions,
): Promise<void> {
  const { result, via } = await throughRelayOrDatabase<ReemitResult>(
    config,
    async (relay) => {
      const parts: ReemitResult[] = [];
      for (let at = 0; at < ids.length; at += CHUNK) {
        const request = { ids: ids.slice(at, at + CHUNK), ...(handler !== undefined && { handler }) };
        parts.push(await relay.ask(TIMEOUT_MS, (handle) => handle.executeUpdate(reemitUpdate, { args: [request] })));
      }
      return { revived: parts.flatMap((part) => part.revived), refused: parts.flatMap((part) => part.refused) };
    },
    async () => {
      const { schema } = config;
      const { revived, refused } = await withDatabase(config, (db) => reemit(db.pool, ids, { schema, handler }));
      return { revived, refused };
    },
  );
  if (options.json) printJson({ ...result, via });
  else print(`Revived ${counted(result.revived.length, 'event')}.`);
  if (result.refused.length === 0) return;
  const reasons = result.refused.map(({ id, reason }) => `  ${id}: ${reason}`).join('\n');
  throw new CommandFailure(`${counted(result.refused.length, 'event')} not revived:\n${reasons}`);
}

async function reviveAll(config: Config, filter: DeadLetterFilter, options: ReemitOptions): Promise<void> {
  const { result, via } = await throughRelayOrDatabase<ReemitAllResult>(
    config,
    (relay) =>
      relay.ask(TIMEOUT_MS, (handle) =>
        // By name: the client's types refuse a definition whose argument is optional.
        handle.executeUpdate<ReemitAllResult, [DeadLetterFilter]>(reemitAllUpdate.name, { args: [filter] }),
      ),
    () => withDatabase(config, (db) => reemitAll(db.pool, filter, { schema: config.schema })),
  );
  if (options.json) printJson({ ...result, via });
  else if (result.revived === 0) print('Revived 0 dead letters: none matches.');
  else print(`Revived ${counted(result.revived, 'dead letter')}.`);
  // A hint. Where only the relay reaches the database, its absence does not make a failure of what went well.
  if (result.revived === 0 && filter.handler !== undefined)
    await withDatabase(config, (db) => noteIfUnknown(db, filter.handler)).catch(() => undefined);
}

/**
 * Through the relay, the order stands in its history. Without one the same statement runs here. A relay that is there
 * but does not finish in time is an error: it may still carry the order out, and a second way would spoil the count.
 */
async function throughRelayOrDatabase<T>(
  config: Config,
  throughRelay: (relay: RelayLink) => Promise<T>,
  throughDatabase: () => Promise<T>,
): Promise<{ result: T; via: 'relay' | 'database' }> {
  let relay: RelayLink | undefined;
  try {
    try {
      relay = await connectRelay(config);
      await relay.ask(QUERY_TIMEOUT_MS, (handle) => handle.query(statusQuery));
    } catch (error) {
      if (!(error instanceof RelayAbsentError)) throw error;
      note(`${error.message}\nGoing directly through the database instead.`);
      return { result: await throughDatabase(), via: 'database' };
    }
    return { result: await throughRelay(relay), via: 'relay' };
  } finally {
    await relay?.close();
  }
}
