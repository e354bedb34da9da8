import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import type { Repositories } from '../adapters/postgres/repositories';
import { answerErrors } from './errors';
import { filmRoutes } from './films';
import { integrationRoutes } from './integrations';
import { reviewRoutes } from './reviews';
import { searchRoutes } from './search';
import { userRoutes } from './users';
import { watchlistRoutes } from './watchlist';
import { wrapUpRoutes } from './wrapUps';

export interface ServerDeps extends Repositories {
  /** Where this instance is reached from outside, without a slash at the end: its actors and reviews are named by it. */
  readonly origin: string;
}

/** The routes over their use cases. Writes to PostgreSQL only: whatever follows from a request is an event's business. */
export async function buildServer(
  deps: ServerDeps,
  logger: FastifyServerOptions['logger'] = false,
): Promise<FastifyInstance> {
  const app = Fastify({
    logger: logger ?? false,
    // A field that the schema does not know is a mistake of the caller's: refused, not dropped in silence.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
  });
  answerErrors(app);
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'Movie diary', version: '0.1.0' }, servers: [{ url: deps.origin }] },
  });
  await app.register(swaggerUi, { routePrefix: '/docs' });
  app.get('/health', () => ({ status: 'ok' }));
  for (const routes of [
    userRoutes,
    reviewRoutes,
    filmRoutes,
    watchlistRoutes,
    wrapUpRoutes,
    integrationRoutes,
    searchRoutes,
  ])
    await app.register(routes, deps);
  return app;
}
