import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { uri, userName } from '../events/fields';
import { blockActor } from '../useCases/blockActor';
import { followActor } from '../useCases/followActor';
import { followUser } from '../useCases/followUser';
import { removeFollower } from '../useCases/removeFollower';
import { unblockActor } from '../useCases/unblockActor';
import { unfollowActor } from '../useCases/unfollowActor';
import { unfollowUser } from '../useCases/unfollowUser';
import type { ServerDeps } from './app';
import { userNamed } from './caller';
import { jsonSchema } from './schema';

const two = z.strictObject({ user: userName, name: userName });
const one = z.strictObject({ user: userName });
const other = z.strictObject({ actor: uri });

type Two = z.infer<typeof two>;
type One = z.infer<typeof one>;
type Other = z.infer<typeof other>;

export function followRoutes(app: FastifyInstance, deps: ServerDeps, done: () => void): void {
  const { users, localFollows, remoteFollowings, remoteFollowers, blocks } = deps;
  const local = (summary: string) => ({ schema: { tags: ['follows'], summary, params: jsonSchema(two) } });
  const begin = (summary: string) => ({
    schema: { tags: ['follows'], summary, params: jsonSchema(one), body: jsonSchema(other) },
  });
  // A DELETE has no body that everybody would pass on.
  const end = (summary: string) => ({
    schema: { tags: ['follows'], summary, params: jsonSchema(one), querystring: jsonSchema(other) },
  });
  const both = async ({ user, name }: Two) => ({
    follower: await userNamed(users, user),
    followee: await userNamed(users, name),
  });
  const relation = async ({ user }: One, { actor }: Other) => ({ userId: (await userNamed(users, user)).id, actor });

  app.put<{ Params: Two }>('/users/:user/follows/:name', local('Follow a user'), async ({ params }, reply) => {
    await followUser(localFollows, await both(params));
    return reply.status(204).send();
  });
  app.delete<{ Params: Two }>('/users/:user/follows/:name', local('Unfollow a user'), async ({ params }, reply) => {
    await unfollowUser(localFollows, await both(params));
    return reply.status(204).send();
  });

  app.put<{ Params: One; Body: Other }>(
    '/users/:user/remote-follows',
    begin('Ask an actor of another instance to be followed'),
    async ({ params, body }, reply) => reply.status(202).send(await followActor(deps, await relation(params, body))),
  );
  app.delete<{ Params: One; Querystring: Other }>(
    '/users/:user/remote-follows',
    end('Unfollow an actor'),
    async ({ params, query }, reply) => {
      await unfollowActor(remoteFollowings, await relation(params, query));
      return reply.status(204).send();
    },
  );
  app.delete<{ Params: One; Querystring: Other }>(
    '/users/:user/remote-followers',
    end('Remove a follower of another instance'),
    async ({ params, query }, reply) => {
      await removeFollower(remoteFollowers, await relation(params, query));
      return reply.status(204).send();
    },
  );

  app.put<{ Params: One; Body: Other }>(
    '/users/:user/blocks',
    begin('Block an actor; follows between the two end'),
    async ({ params, body }, reply) => {
      await blockActor(blocks, await relation(params, body));
      return reply.status(204).send();
    },
  );
  app.delete<{ Params: One; Querystring: Other }>(
    '/users/:user/blocks',
    end('End a block'),
    async ({ params, query }, reply) => {
      await unblockActor(blocks, await relation(params, query));
      return reply.status(204).send();
    },
  );
  done();
}
