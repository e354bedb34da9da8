import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readIncoming } from '../domain/incoming';
import { Refusal } from '../domain/refusal';
import { userName } from '../events/fields';
import { InvalidSignature, type Senders } from '../ports/senders';
import { receiveActivity } from '../useCases/receiveActivity';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { loggable } from './errors';
import { jsonSchema, limitInQuery } from './schema';

/** An activity is a review at most, of which the comment is the greatest part. */
const MAX_BODY_BYTES = 64 * 1024;

const owner = z.strictObject({ user: userName });
const page = z.strictObject({ limit: limitInQuery.default('20') });

export function inboxRoutes(app: FastifyInstance, deps: ServerDeps, done: () => void): void {
  const { users, inbox, remoteReviews, senders, origin } = deps;
  // As it came, to the byte: the signature covers its digest. In this scope alone; other routes have their JSON parsed.
  app.addContentTypeParser(
    ['application/activity+json', 'application/ld+json', 'application/json'],
    { parseAs: 'string' },
    (_request, body, parsed) => parsed(null, body),
  );

  app.post<{ Params: z.infer<typeof owner>; Body: unknown }>(
    '/users/:user/inbox',
    {
      bodyLimit: MAX_BODY_BYTES,
      schema: {
        tags: ['federation'],
        summary: 'Take an activity of another instance, signed as RFC 9421 has it; sent again, it is the same',
        params: jsonSchema(owner),
      },
    },
    async (request, reply) => {
      const { id: userId } = await userNamed(users, request.params.user);
      const body = typeof request.body === 'string' ? request.body : '';
      const activity = readIncoming(parsed(body));
      const sender = await verified(senders, request, body, origin, activity.actor);
      if ('status' in sender) return reply.status(sender.status).send({ error: sender.error });
      await receiveActivity(inbox, { userId, sender: sender.uri, activity });
      return reply.status(202).send();
    },
  );
  app.get<{ Params: z.infer<typeof owner>; Querystring: z.infer<typeof page> }>(
    '/users/:user/feed',
    {
      schema: {
        tags: ['federation'],
        summary: 'Reviews of the actors of other instances whom the user follows, the newest viewing first',
        params: jsonSchema(owner),
        querystring: jsonSchema(page),
      },
    },
    async ({ params, query }) => remoteReviews.feedOf((await userNamed(users, params.user)).id, Number(query.limit)),
  );
  done();
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Refusal('invalid', 'The body must be an activity, as JSON');
  }
}

async function verified(
  senders: Senders,
  { method, url, headers, log }: FastifyRequest<{ Params: { user: string }; Body: unknown }>,
  body: string,
  origin: string,
  actor: string,
): Promise<{ uri: string } | { status: 401 | 503; error: string }> {
  // Nobody is asked for a key on behalf of a request that shows no signature.
  if (headers['signature-input'] === undefined) return { status: 401, error: 'The request is not signed' };
  try {
    return await senders.verify({ method, url: `${origin}${url}`, headers, body }, actor);
  } catch (error) {
    if (error instanceof InvalidSignature) return { status: 401, error: error.message };
    log.warn({ err: loggable(error) }, 'The key of a sender could not be had');
    return { status: 503, error: 'The key of the sender could not be had; the activity can be sent again' };
  }
}
