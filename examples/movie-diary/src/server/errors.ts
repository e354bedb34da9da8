import type { FastifyError, FastifyInstance } from 'fastify';
import { Refusal, type RefusalKind } from '../domain/refusal';

const STATUS: Record<RefusalKind, number> = {
  invalid: 400,
  'not allowed': 403,
  'not found': 404,
  conflict: 409,
  gone: 410,
};

/** PostgreSQL’s code. It comes before any COMMIT, so nothing of such a request was written. */
const LOCK_TIMEOUT = '55P03';

/** Refusals and bad input with their reason; anything else as a 500 whose reason is in the log only. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | Refusal, request, reply) => {
    if (error instanceof Refusal) return reply.status(STATUS[error.kind]).send({ error: error.message });
    const status = error.statusCode ?? 500;
    if (status < 500) return reply.status(status).send({ error: error.message });
    request.log.error({ err: loggable(error) }, 'A request failed');
    if (error.code === LOCK_TIMEOUT)
      return reply
        .status(503)
        .send({ error: 'Another request was in the way for too long; this one can be sent again.' });
    // The answer to a COMMIT may be lost behind it, so nobody can say that nothing was written.
    return reply
      .status(500)
      .send({ error: 'The request failed, and may have been carried out nevertheless; it can be sent again.' });
  });
  app.setNotFoundHandler((request, reply) =>
    reply.status(404).send({ error: `There is nothing at this address for ${request.method}` }),
  );
}

/** An error as a log may hold it. PostgreSQL’s have the values of rows in their details, which are people’s. */
export function loggable(error: unknown): object {
  const { name, message, stack, code, cause } = error as Error & { code?: unknown };
  return {
    type: name,
    message,
    stack,
    ...(code !== undefined && { code }),
    ...(cause instanceof Error && { cause: cause.message }),
  };
}
