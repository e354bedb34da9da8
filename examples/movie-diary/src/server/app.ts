import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import type { Repositories } from '../adapters/postgres/repositories';
import type { Senders } from '../ports/senders';
import { actorRoutes } from './actors';
import { CHECKS, sentence } from './checks';
import { documentRoutes } from './documents';
import { answerErrors } from './errors';
import { filmRoutes } from './films';
import { followRoutes } from './follows';
import { inboxRoutes } from './inbox';
import { integrationRoutes } from './integrations';
import { reactionRoutes } from './reactions';
import { reviewRoutes } from './reviews';
import { searchRoutes } from './search';
import { userRoutes } from './users';
import { watchlistRoutes } from './watchlist';
import { wrapUpRoutes } from './wrapUps';

export interface ServerDeps extends Repositories {
  /** Where this instance is reached from outside, without a slash at the end: its actors and reviews are named by it. */
  readonly origin: string;
  /** Who has sent what comes in from other instances. */
  readonly senders: Senders;
}

/** The routes over their use cases. Writes to PostgreSQL only: whatever follows from a request is an event's business. */
export async function buildServer(
  deps: ServerDeps,
  logger: FastifyServerOptions['logger'] = false,
): Promise<FastifyInstance> {
  const app = Fastify({
    logger,
    ajv: CHECKS,
    schemaErrorFormatter: sentence,
  });
  answerErrors(app);
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Movie diary', version: '0.1.0' }, servers: [{ url: deps.origin }] },
  });
  await app.register(swaggerUi, { routePrefix: '/docs' });
  app.get('/health', () => ({ status: 'ok' }));
  for (const routes of [
    userRoutes,
    actorRoutes,
    documentRoutes,
    reviewRoutes,
    filmRoutes,
    followRoutes,
    reactionRoutes,
    inboxRoutes,
    watchlistRoutes,
    wrapUpRoutes,
    integrationRoutes,
    searchRoutes,
  ])
    await app.register(routes, deps);
  return app;
}
