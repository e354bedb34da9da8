import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { filmTitle, userName } from '../events/fields';
import { addToWatchlist } from '../useCases/addToWatchlist';
import { removeFromWatchlist } from '../useCases/removeFromWatchlist';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { jsonSchema, numberInPath } from './schema';

const owner = z.strictObject({ user: userName });
const one = z.strictObject({ user: userName, number: numberInPath });
const listed = z.strictObject({ title: filmTitle });

type One = z.infer<typeof one>;

export function watchlistRoutes(app: FastifyInstance, { users, watchlist }: ServerDeps, done: () => void): void {
  app.put<{ Params: One; Body: z.infer<typeof listed> }>(
    '/users/:user/watchlist/:number',
    {
      schema: {
        tags: ['watchlist'],
        summary: 'Put a film on the watchlist; sent again, it changes nothing',
        params: jsonSchema(one),
        body: jsonSchema(listed),
      },
    },
    async ({ params, body }, reply) => {
      const { id: userId } = await userNamed(users, params.user);
      const film = { number: Number(params.number), title: body.title };
      const added = await addToWatchlist(watchlist, { userId, film });
      return reply.status(added.isNew ? 201 : 200).send(added.film);
    },
  );
  app.delete<{ Params: One }>(
    '/users/:user/watchlist/:number',
    { schema: { tags: ['watchlist'], summary: 'Take a film off the watchlist', params: jsonSchema(one) } },
    async ({ params }, reply) => {
      const { id: userId } = await userNamed(users, params.user);
      await removeFromWatchlist(watchlist, { userId, filmNumber: Number(params.number) });
      return reply.status(204).send();
    },
  );
  app.get<{ Params: z.infer<typeof owner> }>(
    '/users/:user/watchlist',
    { schema: { tags: ['watchlist'], summary: 'A watchlist', params: jsonSchema(owner) } },
    async ({ params }) => watchlist.ofUser((await userNamed(users, params.user)).id),
  );
  done();
}
