import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { actorUri } from '../domain/activity';
import { Refusal } from '../domain/refusal';
import { leftOf, note, tombstone } from '../domain/reviewActivities';
import { isAboutBlock } from '../domain/undo';
import { id } from '../events/fields';
import type { ServerDeps } from './app';
import { jsonSchema } from './schema';

const params = z.strictObject({ id });

type Params = z.infer<typeof params>;

const TYPE = 'application/activity+json';

/** What the URIs of reviews and activities answer with: the same documents that were sent. */
export function documentRoutes(app: FastifyInstance, deps: ServerDeps, done: () => void): void {
  const { activities, films, reviews, users, origin } = deps;
  app.get<{ Params: Params }>(
    '/reviews/:id',
    { schema: { tags: ['federation'], summary: 'A review as a note, or its tombstone', params: jsonSchema(params) } },
    async ({ params: { id: reviewId } }, reply) => {
      const review = await reviews.find(reviewId);
      const film = review && (await films.find(review.filmId));
      const user = review && (await users.byId(review.userId));
      if (film && user) {
        const author = { origin, actor: actorUri(origin, user.name), version: review.version };
        return reply.type(TYPE).send(note(author, { ...review, reviewId, film }));
      }
      // Asked for last, so that a review that goes meanwhile is found here.
      const deletion = await reviews.deletion(reviewId);
      if (!deletion) throw new Refusal('not found', `There is no review ${reviewId}`);
      return reply
        .status(410)
        .type(TYPE)
        .send(tombstone({ origin, ...deletion }, reviewId));
    },
  );
  app.get<{ Params: Params }>(
    '/activities/:id',
    { schema: { tags: ['federation'], summary: 'An activity that was sent', params: jsonSchema(params) } },
    async ({ params: { id: uuid } }, reply) => {
      const activity = await activities.find(`${origin}/activities/${uuid}`);
      // Whom a user blocks is nobody's business but theirs, and the id of a block can be guessed.
      if (!activity || isAboutBlock(activity)) throw new Refusal('not found', `There is no activity ${uuid}`);
      // Asked for at every request: the activity may be kept a moment after its review’s end.
      const left = await leftOf(activity, reviews);
      if (left) return reply.status(410).type(TYPE).send(left);
      return reply.type(TYPE).send(activity);
    },
  );
  done();
}
