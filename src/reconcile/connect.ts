import { JetStreamApiCodes, JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import { errors, type NatsConnection } from 'nats';
import { NatsLink } from '../broker/link';
import type { Config } from '../config';
import { ReconcileError } from '../errors';
import { createLogger } from '../logger';

/**
 * Runs the work over a connection to NATS of its own, which ends with the first sign that the broker is away: a
 * comparison that waits for its return would be of no moment at all.
 *
 * @throws ReconcileError `broker-away`, `refused`
 */
export async function overNats<T>(nats: Config['nats'], work: (connection: NatsConnection) => Promise<T>): Promise<T> {
  const link = new NatsLink(nats, createLogger('silent'), () => Promise.resolve());
  let lost: string | undefined;
  link.onDown((reason) => {
    lost = reason;
    void link.close();
  });
  const away = (reason: string, cause?: unknown) =>
    new ReconcileError('broker-away', `${capital(reason)}: check that it runs, and NATS_URL.`, { cause });
  try {
    await link.start();
    if (!link.connection) throw away(link.reason);
    try {
      return await work(link.connection);
    } catch (error) {
      throw lost === undefined ? asAnswer(error) : away(lost, error);
    }
  } finally {
    await link.close();
  }
}

/** What JetStream refuses, it refuses again; and one that is off answers nothing at all. Neither says so in a sentence. */
function asAnswer(error: unknown): unknown {
  if (error instanceof JetStreamApiError || error instanceof JetStreamError)
    return new ReconcileError('refused', `JetStream refused: ${error.message}. ${wayOut(error)}`, { cause: error });
  if (!(error instanceof Error) || !isSilence(error)) return error;
  return new ReconcileError(
    'broker-away',
    `JetStream did not answer (${error.message || error.name}): check that it is on and not overloaded, and try again.`,
    { cause: error },
  );
}

function wayOut(error: JetStreamApiError | JetStreamError): string {
  const { StreamNotFound, ConsumerNotFound } = JetStreamApiCodes;
  if (error instanceof JetStreamApiError && ![StreamNotFound, ConsumerNotFound].some((code) => code === error.code))
    return 'The stream is read by a consumer without acknowledgements; a work-queue stream allows none, and stream or account may be out of consumers.';
  return 'Stream or consumer were deleted while they were read: try again.';
}

function isSilence(error: Error): boolean {
  const { NoRespondersError, TimeoutError, RequestError } = errors;
  // The client does not export the class of the last.
  return [NoRespondersError, TimeoutError, RequestError].some((each) => error instanceof each) || error.name === 'JetStreamNotEnabled'; // prettier-ignore
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
