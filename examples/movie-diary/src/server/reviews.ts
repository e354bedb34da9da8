import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { comment, date, filmNumber, filmTitle, id, rating, userName } from '../events/fields';
import { deleteReview } from '../useCases/deleteReview';
import { editReview } from '../useCases/editReview';
import { logReview } from '../useCases/logReview';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { jsonSchema } from './schema';

const owner = z.strictObject({ user: userName });
const one = z.strictObject({ user: userName, reviewId: id });
const film = z.strictObject({ number: filmNumber, title: filmTitle });
const logged = z.strictObject({ film, rating, comment: comment.default(null), watchedOn: date });
const edit = z.strictObject({ rating, comment, watchedOn: date }).partial();

type One = z.infer<typeof one>;

export function reviewRoutes(app: FastifyInstance, { users, reviews, films }: ServerDeps, done: () => void): void {
  app.put<{ Params: One; Body: z.infer<typeof logged> }>(
    '/users/:user/reviews/:reviewId',
    {
      schema: {
        tags: ['reviews'],
        summary: 'Log a review under an id of your own; sent again, it is the same review',
        params: jsonSchema(one),
        body: jsonSchema(logged),
      },
    },
    async ({ params, body }, reply) => {
      const { id: userId } = await userNamed(users, params.user);
      const { review, isNew } = await logReview(reviews, { reviewId: params.reviewId, userId, ...body });
      return reply.status(isNew ? 201 : 200).send(review);
    },
  );
  app.patch<{ Params: One; Body: z.infer<typeof edit> }>(
    '/users/:user/reviews/:reviewId',
    { schema: { tags: ['reviews'], summary: 'Edit', params: jsonSchema(one), body: jsonSchema(edit) } },
    async ({ params, body }) => {
      const { id: userId } = await userNamed(users, params.user);
      return editReview(reviews, { reviewId: params.reviewId, userId, edit: body });
    },
  );
  app.delete<{ Params: One }>(
    '/users/:user/reviews/:reviewId',
    { schema: { tags: ['reviews'], summary: 'Delete', params: jsonSchema(one) } },
    async ({ params }, reply) => {
      const { id: userId } = await userNamed(users, params.user);
      await deleteReview({ reviews, films }, { reviewId: params.reviewId, userId });
      return reply.status(204).send();
    },
  );
  app.get<{ Params: z.infer<typeof owner> }>(
    '/users/:user/reviews',
    { schema: { tags: ['reviews'], summary: 'A diary', params: jsonSchema(owner) } },
    async ({ params }) => reviews.ofUser((await userNamed(users, params.user)).id),
  );
  done();
}
