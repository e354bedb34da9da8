import { readStreamInfo } from '../broker/streamState';
import { duration } from '../cli/output';
import { databaseNow } from '../postgres/now';
import { ok, usesStream, warning, type Check, type Found, type Patient } from './finding';

/** Beyond it times in logs of two hosts cannot be put in order by eye. */
const TOLERATED_MS = 2_000;

/** A clock, and how far it is ahead of this host's, in milliseconds; half of the question's way is its uncertainty. */
export interface ClockReading {
  readonly name: string;
  readonly aheadMs: number;
}

/** Information only: every lease and every due time is the database's, and no two clocks are ever compared. */
export const clocks: Check = {
  name: 'clocks',
  look: async (patient) => {
    const readings = [await ask('the database', () => databaseTime(patient))];
    const nats = usesStream(patient.config) ? await natsTime(patient).catch(() => undefined) : undefined;
    if (nats) readings.push(nats);
    return judge(readings);
  },
};

export function judge(readings: readonly ClockReading[]): Found[] {
  return readings.map(({ name, aheadMs }) => {
    const by = duration(Math.abs(aheadMs));
    if (Math.abs(aheadMs) <= TOLERATED_MS) return ok(`The clock of ${name} is that of this host, within ${by}.`);
    return warning(
      `The clock of ${name} is ${by} ${aheadMs > 0 ? 'ahead of' : 'behind'} this host's. Nothing is decided by that, but times in logs do not fit together.`,
      'Let both hosts take their time from the same servers (NTP).',
    );
  });
}

async function ask(name: string, time: () => Promise<number>): Promise<ClockReading> {
  // eslint-disable-next-line no-restricted-syntax -- this clock is what is compared here
  const now = () => Date.now();
  const before = now();
  const theirs = await time();
  return { name, aheadMs: theirs - (before + now()) / 2 };
}

async function databaseTime({ db }: Patient): Promise<number> {
  // The first query of a pool connects, which would count as a part of the way.
  await db.query('/* outbox: ping */ SELECT 1');
  return databaseNow(db);
}

async function natsTime(patient: Patient): Promise<ClockReading | undefined> {
  const { connection } = await patient.nats();
  let told: string | undefined;
  const reading = await ask('NATS', async () => {
    told = connection && (await readStreamInfo(connection, patient.config.nats.stream))?.ts;
    return told === undefined ? NaN : Date.parse(told);
  });
  return told === undefined ? undefined : reading;
}
