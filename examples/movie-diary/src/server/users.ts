import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { displayName, uri, userName } from '../events/fields';
import { changeProfile } from '../useCases/changeProfile';
import { moveAccount } from '../useCases/moveAccount';
import { registerUser } from '../useCases/registerUser';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { jsonSchema } from './schema';

const params = z.strictObject({ user: userName });
const profile = z.strictObject({ displayName });
const move = z.strictObject({ target: uri });

export function userRoutes(app: FastifyInstance, { users }: ServerDeps, done: () => void): void {
  app.put<{ Params: z.infer<typeof params>; Body: z.infer<typeof profile> }>(
    '/users/:user',
    { schema: { tags: ['users'], summary: 'Register, or change the profile', ...both(params, profile) } },
    async ({ params, body }, reply) => {
      const { user, isNew } = await registerUser(users, { name: params.user, displayName: body.displayName });
      const after = isNew ? user : await changeProfile(users, user, body.displayName);
      return reply.status(isNew ? 201 : 200).send({ id: after.id, name: after.name, displayName: after.displayName });
    },
  );
  app.put<{ Params: z.infer<typeof params>; Body: z.infer<typeof move> }>(
    '/users/:user/moved-to',
    { schema: { tags: ['users'], summary: 'Go on as another actor', ...both(params, move) } },
    async ({ params, body }) => {
      const { movedTo } = await moveAccount(users, await userNamed(users, params.user), body.target);
      return { movedTo };
    },
  );
  done();
}

function both(params: z.ZodType, body: z.ZodType) {
  return { params: jsonSchema(params), body: jsonSchema(body) };
}
