import type { Command } from 'commander';
import { uuid } from '../cli/arguments';
import { withDatabase } from '../cli/database';
import { connectDeliveryRun } from '../cli/deliveryRun';
import { CommandFailure } from '../cli/failure';
import { print, printJson } from '../cli/output';
import { addManual } from '../cli/manual';
import { DATABASE, TEMPORAL } from '../cli/variables';
import { loadConfig } from '../config';
import { lookUpEvent, type FoundDelivery, type FoundEvent } from '../deliveries/lookUp';

export function addRetry(program: Command): void {
  const verb = program
    .command('retry')
    .summary('try a handler that waits now')
    .description(
      "Ends the wait of an event's handlers between two attempts, and tries them now. Goes through Temporal; when the event's delivery run is gone, another one is started. The number of attempts stays as it is: for a handler that has none left there is `outbox reemit`.",
    )
    .argument('<event_id>', 'the event id, a UUID', uuid)
    .option('--handler <name>', 'only this handler')
    .option('--json', 'print the result as JSON')
    .action(runRetry);
  addManual(verb, {
    environment: [...DATABASE, ...TEMPORAL],
    exits: { 0: 'its handlers are tried now', 1: 'no handler of it waits, and stderr says what became of them' },
    examples: [['outbox retry 5f0c7b0e-2f43-4c0e-9d58-0d8f3a5f8a11 --handler send-mail', 'the mail server is back']],
    seeAlso: ['waiting', 'reemit', 'show'],
  });
}

async function runRetry(eventId: string, options: { handler?: string; json?: boolean }): Promise<void> {
  const config = loadConfig();
  const found = await withDatabase(config, (db) => lookUpEvent(db, eventId));
  const waiting = waitingOf(found, eventId, options.handler);
  const link = await connectDeliveryRun(config, eventId);
  try {
    const told = await link.retryNow(options.handler);
    if (!told) await link.start({ eventId, ...eventOf(waiting[0]) }, waiting.map(dueNow));
    const handlers = waiting.map(({ handler }) => handler);
    if (options.json) printJson({ eventId, handlers, run: told ? 'told' : 'started' });
    else if (told) print(`Told the delivery run to try ${handlers.join(', ')} now.`);
    else print(`No delivery run was open: started one, which tries ${handlers.join(', ')} now.`);
  } finally {
    await link.close();
  }
}

type Waiting = readonly [FoundDelivery, ...FoundDelivery[]];

/** @throws CommandFailure that says why nothing waits, and what to do instead */
function waitingOf(found: FoundEvent | undefined, eventId: string, handler: string | undefined): Waiting {
  if (!found) throw new CommandFailure(`Nothing is known of the event ${eventId}.`);
  const asked = found.deliveries.filter((each) => handler === undefined || each.handler === handler);
  const [first, ...others] = asked.filter(({ state }) => state === 'waiting');
  if (first) return [first, ...others];
  const dead = asked.filter(({ state }) => state === 'dead').map((each) => each.handler);
  if (dead.length > 0) {
    throw new CommandFailure(
      `Nothing waits: the attempts of ${dead.join(', ')} ran out. Hand it back with: outbox reemit ${eventId}`,
    );
  }
  const who = handler === undefined ? 'No handler' : `The handler ${handler} is not one that`;
  throw new CommandFailure(`${who} waits for the event ${eventId}: see \`outbox show ${eventId}\`.`);
}

function eventOf({ eventType, aggregateType, aggregateId }: FoundDelivery) {
  return { eventType, aggregateType, aggregateId };
}

function dueNow({ handler, attempts, reason }: FoundDelivery) {
  return { handler, attempts, dueInMs: 0, reason };
}
