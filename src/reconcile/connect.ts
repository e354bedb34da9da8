import type { NatsConnection } from 'nats';
import { NatsLink } from '../broker/link';
import type { Config } from '../config';
import { ReconcileError } from '../errors';
import { createLogger } from '../logger';

/**
 * Runs the work over a connection to NATS of its own, which ends with the first sign that the broker is away: a
 * comparison that waits for its return would be of no moment at all.
 *
 * @throws ReconcileError `broker-away`
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

/** JetStream that is off answers nothing at all, and the client says so in words of its own. */
function asAnswer(error: unknown): unknown {
  const name = error instanceof Error ? error.name : '';
  if (!/^(NoResponders|NoRespondersError|JetStreamNotEnabled|TimeoutError|RequestError|JetStreamApiError)$/.test(name))
    return error;
  return new ReconcileError(
    'broker-away',
    `JetStream did not answer (${(error as Error).message || name}): check that it is on and not overloaded, and try again.`,
    { cause: error },
  );
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
