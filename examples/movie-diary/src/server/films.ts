import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { filmTitle, id } from '../events/fields';
import { Refusal } from '../domain/refusal';
import { discoverFilm } from '../useCases/discoverFilm';
import { requestFilmEnrichment } from '../useCases/requestFilmEnrichment';
import { requestPersonEnrichment } from '../useCases/requestPersonEnrichment';
import type { ServerDeps } from './app';
import { jsonSchema, numberInPath } from './schema';

const byNumber = z.strictObject({ number: numberInPath });
const title = z.strictObject({ title: filmTitle });
const byId = z.strictObject({ id });

export function filmRoutes(app: FastifyInstance, { films, people }: ServerDeps, done: () => void): void {
  app.put<{ Params: z.infer<typeof byNumber>; Body: z.infer<typeof title> }>(
    '/films/by-number/:number',
    {
      schema: { tags: ['films'], summary: 'Discover a film', params: jsonSchema(byNumber), body: jsonSchema(title) },
    },
    async ({ params, body }, reply) => {
      const { film, isNew } = await discoverFilm(films, { number: Number(params.number), title: body.title });
      return reply.status(isNew ? 201 : 200).send(film);
    },
  );
  app.get<{ Params: z.infer<typeof byId> }>(
    '/films/:id',
    { schema: { tags: ['films'], summary: 'A film', params: jsonSchema(byId) } },
    async ({ params }) => {
      const film = await films.find(params.id);
      if (!film) throw new Refusal('not found', `There is no film ${params.id}`);
      return film;
    },
  );
  app.post<{ Params: z.infer<typeof byId> }>(
    '/films/:id/enrichment',
    { schema: { tags: ['films'], summary: 'Fetch its data again', params: jsonSchema(byId) } },
    async ({ params }, reply) => {
      await requestFilmEnrichment(films, params.id);
      return reply.status(202).send();
    },
  );
  app.post<{ Params: z.infer<typeof byId> }>(
    '/people/:id/enrichment',
    { schema: { tags: ['people'], summary: 'Fetch their data again', params: jsonSchema(byId) } },
    async ({ params }, reply) => {
      await requestPersonEnrichment(people, params.id);
      return reply.status(202).send();
    },
  );
  done();
}
