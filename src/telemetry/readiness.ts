import type { Config } from '../config';
import { within } from '../within';
import type { Parts } from './parts';

const ANSWER_MS = 2_000;

export interface Check {
  readonly ok: boolean;
  /** Why not, in a sentence. */
  readonly reason?: string;
}

export interface Readiness {
  readonly ready: boolean;
  readonly polling: Check;
  readonly postgres: Check;
  readonly temporal: Check;
  /** Absent with backend `db`. */
  readonly nats?: Check;
}

/** Whether a worker can do its work now. Asks all three servers at once; answers within some two seconds. */
export async function readReadiness(parts: Parts, { backend }: Pick<Config, 'backend'>): Promise<Readiness> {
  const [postgres, temporal, nats] = await Promise.all([
    answers('PostgreSQL', parts.db && (() => parts.db?.query('/* outbox: ping */ SELECT 1'))),
    answers('Temporal', parts.temporal && (() => parts.temporal?.connection.workflowService.getSystemInfo({}))),
    backend === 'db' ? undefined : natsAnswers(parts),
  ]);
  const polling = pollingOf(parts);
  const ready = [polling, postgres, temporal, nats].every((check) => check?.ok ?? true);
  return { ready, polling, postgres, temporal, ...(nats && { nats }) };
}

function pollingOf({ polling, stopping }: Parts): Check {
  if (stopping) return { ok: false, reason: 'the worker stops' };
  return polling ? { ok: true } : { ok: false, reason: 'the worker does not poll its task queues yet' };
}

async function natsAnswers({ broker }: Parts): Promise<Check> {
  if (!broker) return { ok: false, reason: 'NATS has not been connected to yet' };
  const reason = await within(2 * ANSWER_MS, broker.ready());
  if (reason === null) return { ok: true };
  return { ok: false, reason: reason ?? 'NATS does not answer' };
}

async function answers(server: string, ask: (() => Promise<unknown> | undefined) | undefined): Promise<Check> {
  if (!ask) return { ok: false, reason: `${server} has not been connected to yet` };
  try {
    const answered = await within(
      ANSWER_MS,
      Promise.resolve(ask()).then(() => true),
    );
    return answered ? { ok: true } : { ok: false, reason: `${server} does not answer within ${ANSWER_MS} ms` };
  } catch (error) {
    return { ok: false, reason: `${server} cannot be used: ${(error as Error).message}` };
  }
}
