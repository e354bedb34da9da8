import { z } from 'zod';
import { isObjectStoreUrl, OBJECT_STORE_FORM } from './adapters/objectStore/url';

const environment = z.object({
  DATABASE_URL: z.string('is not set'),
  /** Where this instance is reached from outside; its actors, reviews and activities are named by it for good. */
  DIARY_ORIGIN: z.url({ protocol: /^https?$/ }),
  DIARY_HOST: z.string().default('127.0.0.1'),
  DIARY_PORT: z.coerce.number().int().min(0).max(65_535).default(8300),
});

const worker = environment.extend({
  METADATA_URL: z.url({ protocol: /^https?$/ }),
  OBJECT_STORE: z.string().refine(isObjectStoreUrl, OBJECT_STORE_FORM),
});

/** The application's own settings. The outbox reads its own. @throws Error that names every problem at once */
export function readSettings(env: NodeJS.ProcessEnv) {
  const data = parse(environment, env);
  return {
    databaseUrl: data.DATABASE_URL,
    origin: data.DIARY_ORIGIN.replace(/\/+$/, ''),
    host: data.DIARY_HOST,
    port: data.DIARY_PORT,
  };
}

/** Those of a worker: it alone reaches for services outside of the database. @throws Error */
export function readWorkerSettings(env: NodeJS.ProcessEnv) {
  const data = parse(worker, env);
  return { ...readSettings(env), metadataUrl: data.METADATA_URL, objectStore: data.OBJECT_STORE };
}

function parse<T>(schema: z.ZodType<T>, env: NodeJS.ProcessEnv): T {
  const { success, data, error } = schema.safeParse(env);
  if (!success) throw new Error(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
  return data;
}
