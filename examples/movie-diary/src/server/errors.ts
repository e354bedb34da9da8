import type { FastifyError, FastifyInstance } from 'fastify';
import { Refusal, type RefusalKind } from '../domain/refusal';

const STATUS: Record<RefusalKind, number> = {
  invalid: 400,
  'not allowed': 403,
  'not found': 404,
  conflict: 409,
  gone: 410,
};

/** Refusals and bad input with their reason; anything else as a 500 whose reason is in the log only. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | Refusal, request, reply) => {
    if (error instanceof Refusal) return reply.status(STATUS[error.kind]).send({ error: error.message });
    const status = error.statusCode ?? 500;
    if (status < 500) return reply.status(status).send({ error: error.message });
    request.log.error({ err: error }, 'A request failed');
    return reply.status(500).send({ error: 'The request failed. Nothing of it was written; it can be sent again.' });
  });
  app.setNotFoundHandler((request, reply) =>
    reply.status(404).send({ error: `There is nothing at this address for ${request.method}` }),
  );
}
