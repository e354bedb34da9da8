import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { readDiaryExport } from '../adapters/csv/diaryExport';
import { Refusal } from '../domain/refusal';
import { externalId, filmNumber, filmTitle, id, instant, source, userName } from '../events/fields';
import { importDiary } from '../useCases/importDiary';
import { receiveWatchEvent } from '../useCases/receiveWatchEvent';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { jsonSchema } from './schema';

const MAX_FILE_BYTES = 1024 * 1024;

const server = z.strictObject({ user: userName, source });
const film = z.strictObject({ number: filmNumber, title: filmTitle });
const watched = z.strictObject({ eventId: externalId, film, watchedAt: instant });
const upload = z.strictObject({ user: userName, importId: id });
/** Fastify is given bytes: what they must be, `readDiaryExport` says. */
const CSV = {
  contentMediaType: 'text/csv',
  description: 'UTF-8, with a header line: Date (YYYY-MM-DD), Name, Number, Rating (1 to 10) and, if wanted, Comment',
};

export function integrationRoutes(app: FastifyInstance, deps: ServerDeps, done: () => void): void {
  const { users, watchEvents, diaryImports } = deps;
  app.addContentTypeParser('text/csv', { parseAs: 'buffer' }, (_request, body, parsed) => parsed(null, body));

  app.post<{ Params: z.infer<typeof server>; Body: z.infer<typeof watched> }>(
    '/users/:user/webhooks/:source',
    {
      schema: {
        tags: ['integrations'],
        summary: 'A media server reports that a film was watched; sent again, it is the same event',
        params: jsonSchema(server),
        body: jsonSchema(watched),
      },
    },
    async ({ params, body }, reply) => {
      const { id: userId } = await userNamed(users, params.user);
      const { eventId, film, watchedAt } = body;
      const command = { userId, source: params.source, externalId: eventId, film, watchedAt };
      const { watchEvent, isNew } = await receiveWatchEvent(watchEvents, command);
      return reply.status(isNew ? 201 : 200).send(watchEvent);
    },
  );
  app.post<{ Params: z.infer<typeof upload>; Body: unknown }>(
    '/users/:user/imports/:importId',
    {
      bodyLimit: MAX_FILE_BYTES,
      schema: {
        tags: ['integrations'],
        summary: 'Import a diary under an id of your own; sent again, it is the same import',
        consumes: ['text/csv'],
        params: jsonSchema(upload),
        body: { content: { 'text/csv': { schema: CSV } } },
      },
    },
    async ({ params, body }, reply) => {
      if (!Buffer.isBuffer(body)) throw new Refusal('invalid', 'The body must be a file of the type text/csv');
      const { id: userId } = await userNamed(users, params.user);
      const { importId } = params;
      const { diaryImport, isNew } = await importDiary(diaryImports, { importId, userId, file: readDiaryExport(body) });
      const { imported, refused } = diaryImport;
      return reply.status(isNew ? 201 : 200).send({ id: importId, imported, refused });
    },
  );
  done();
}
