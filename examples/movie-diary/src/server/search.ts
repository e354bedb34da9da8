import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { searchWords } from '../events/fields';
import type { ServerDeps } from './app';
import { jsonSchema, limitInQuery } from './schema';

const query = z.strictObject({ q: searchWords, limit: limitInQuery.default('20') });

export function searchRoutes(app: FastifyInstance, { search }: ServerDeps, done: () => void): void {
  app.get<{ Querystring: z.infer<typeof query> }>(
    '/search',
    { schema: { tags: ['search'], summary: 'Films and people, the best match first', querystring: jsonSchema(query) } },
    ({ query: { q, limit } }) => search.find(q, Number(limit)),
  );
  done();
}
