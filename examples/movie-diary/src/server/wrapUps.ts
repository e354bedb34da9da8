import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { Refusal } from '../domain/refusal';
import { wrapUpId } from '../domain/wrapUp';
import { userName } from '../events/fields';
import { requestWrapUp } from '../useCases/requestWrapUp';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { jsonSchema, yearInPath } from './schema';

const one = z.strictObject({ user: userName, year: yearInPath });

export function wrapUpRoutes(app: FastifyInstance, { users, wrapUps }: ServerDeps, done: () => void): void {
  app.put<{ Params: z.infer<typeof one> }>(
    '/users/:user/wrap-ups/:year',
    {
      schema: {
        tags: ['wrap-ups'],
        summary: 'Request the summary of a year; requested again, it is the same one',
        params: jsonSchema(one),
      },
    },
    async ({ params }, reply) => {
      const { id: userId } = await userNamed(users, params.user);
      const { wrapUp, isNew } = await requestWrapUp(wrapUps, { userId, year: Number(params.year) });
      return reply.status(isNew ? 202 : 200).send(wrapUp);
    },
  );
  app.get<{ Params: z.infer<typeof one> }>(
    '/users/:user/wrap-ups/:year',
    { schema: { tags: ['wrap-ups'], summary: 'A wrap-up, as far as it is', params: jsonSchema(one) } },
    async ({ params }) => {
      const { id: userId } = await userNamed(users, params.user);
      const wrapUp = await wrapUps.find(wrapUpId(userId, Number(params.year)));
      if (!wrapUp) throw new Refusal('not found', `No wrap-up of ${params.year} was requested`);
      return wrapUp;
    },
  );
  done();
}
