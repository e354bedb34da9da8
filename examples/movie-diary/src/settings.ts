import { z } from 'zod';

const environment = z.object({
  DATABASE_URL: z.string(),
  /** Where this instance is reached from outside; its actors, reviews and activities are named by it for good. */
  DIARY_ORIGIN: z.url({ protocol: /^https?$/ }),
  DIARY_HOST: z.string().default('127.0.0.1'),
  DIARY_PORT: z.coerce.number().int().min(0).max(65_535).default(8300),
});

/** The application's own settings. The outbox reads its own. @throws Error that names every problem at once */
export function readSettings(env: NodeJS.ProcessEnv) {
  const { success, data, error } = environment.safeParse(env);
  if (!success) throw new Error(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
  return {
    databaseUrl: data.DATABASE_URL,
    origin: data.DIARY_ORIGIN.replace(/\/+$/, ''),
    host: data.DIARY_HOST,
    port: data.DIARY_PORT,
  };
}
