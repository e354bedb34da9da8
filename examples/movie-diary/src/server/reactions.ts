import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { uri, userName } from '../events/fields';
import {
  announceReview,
  likeReview,
  unannounceReview,
  unlikeReview,
  type ReactionCommand,
} from '../useCases/reactToReview';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { jsonSchema } from './schema';

const one = z.strictObject({ user: userName });
const reviewed = z.strictObject({ review: uri });

type One = z.infer<typeof one>;
type Reviewed = z.infer<typeof reviewed>;

export function reactionRoutes(app: FastifyInstance, deps: ServerDeps, done: () => void): void {
  const { users, reactions, remoteReactions } = deps;
  const routes = (
    path: string,
    what: string,
    react: (command: ReactionCommand) => Promise<void>,
    takeBack: (command: ReactionCommand) => Promise<void>,
  ) => {
    const command = async ({ user }: One, { review }: Reviewed) => ({
      userId: (await userNamed(users, user)).id,
      reviewUri: review,
    });
    const about = (summary: string) => ({ tags: ['reactions'], summary, params: jsonSchema(one) });
    app.put<{ Params: One; Body: Reviewed }>(
      path,
      { schema: { ...about(`${what} a review of any instance`), body: jsonSchema(reviewed) } },
      async ({ params, body }, reply) => {
        await react(await command(params, body));
        return reply.status(204).send();
      },
    );
    app.delete<{ Params: One; Querystring: Reviewed }>(
      path,
      { schema: { ...about(`${what} it no longer`), querystring: jsonSchema(reviewed) } },
      async ({ params, query }, reply) => {
        await takeBack(await command(params, query));
        return reply.status(204).send();
      },
    );
  };
  routes(
    '/users/:user/likes',
    'Like',
    (command) => likeReview(deps, command),
    (command) => unlikeReview(reactions, command),
  );
  routes(
    '/users/:user/announcements',
    'Announce',
    (command) => announceReview(deps, command),
    (command) => unannounceReview(reactions, command),
  );
  app.get<{ Querystring: Reviewed }>(
    '/remote-reactions',
    {
      schema: {
        tags: ['reactions'],
        summary: 'Likes and announcements of a review by actors of other instances',
        querystring: jsonSchema(reviewed),
      },
    },
    ({ query }) => remoteReactions.ofReview(query.review),
  );
  done();
}
