import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { actorUri } from '../domain/activity';
import { actorOf } from '../domain/actor';
import { Refusal } from '../domain/refusal';
import { userName } from '../events/fields';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { jsonSchema } from './schema';

const params = z.strictObject({ user: userName });
const account = z.strictObject({
  resource: z.string().regex(/^acct:[a-z0-9_]{1,32}@[^@\s]{1,255}$/),
  rel: z.string().optional(),
});

/** How other instances find a user, and where the user's key and inbox are. */
export function actorRoutes(app: FastifyInstance, { users, origin }: ServerDeps, done: () => void): void {
  app.get<{ Params: z.infer<typeof params> }>(
    '/users/:user',
    { schema: { tags: ['federation'], summary: 'A user as an actor', params: jsonSchema(params) } },
    async ({ params: { user } }, reply) =>
      reply.type('application/activity+json').send(actorOf(origin, await userNamed(users, user))),
  );
  app.get<{ Querystring: z.infer<typeof account> }>(
    '/.well-known/webfinger',
    { schema: { tags: ['federation'], summary: 'The actor of an account', querystring: jsonSchema(account) } },
    async ({ query: { resource } }, reply) => {
      const [name = '', host] = resource.slice('acct:'.length).split('@');
      if (host !== new URL(origin).host) throw new Refusal('not found', `${resource} is no account of this instance`);
      const { name: known } = await userNamed(users, name);
      const self = { rel: 'self', type: 'application/activity+json', href: actorUri(origin, known) };
      return reply.type('application/jrd+json').send({ subject: resource, links: [self] });
    },
  );
  done();
}
