import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** One effect of the poster service: a poster that was ordered, and will be printed and sent. */
export interface PosterOrder {
  /** The `Idempotency-Key` of the call that had the effect. */
  readonly key: string;
  readonly film: number;
  readonly eventId: string;
}

/** The service's own log of its effects, a file with a line for each, which outlives the service. */
export class PosterLog {
  constructor(private readonly file: string) {}

  add(order: PosterOrder): void {
    appendFileSync(this.file, `${JSON.stringify(order)}\n`);
  }

  read(): PosterOrder[] {
    if (!existsSync(this.file)) return [];
    const lines = readFileSync(this.file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as PosterOrder);
  }
}

export interface Ordered {
  /** Events whose poster was ordered. */
  readonly ordered: number;
  /** Orders beyond the first of an event. */
  readonly orderedTwice: number;
  readonly notOrdered: number;
  /** Orders for events whose transaction rolled back. */
  readonly orderedOfRolledBack: number;
}

/** Compares the log with what was committed and what was rolled back. */
export function countOrders(
  log: PosterLog,
  { committed, rolledBack }: { committed: ReadonlySet<string>; rolledBack: ReadonlySet<string> },
): Ordered {
  const orders = log.read().map(({ eventId }) => eventId);
  const ours = orders.filter((eventId) => committed.has(eventId));
  const ordered = new Set(ours).size;
  return {
    ordered,
    orderedTwice: ours.length - ordered,
    notOrdered: committed.size - ordered,
    orderedOfRolledBack: orders.filter((eventId) => rolledBack.has(eventId)).length,
  };
}
