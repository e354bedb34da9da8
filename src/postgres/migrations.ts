import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Queryable } from './database';

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** An older build must not run past it. Said by a first line `-- breaking`. */
  readonly breaking: boolean;
  readonly sql: string;
}

export const DIRECTORY = join(__dirname, '..', '..', 'migrations');

export function readMigrations(directory: string): Migration[] {
  return readdirSync(directory)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(directory, file), 'utf8');
      return { version: Number(file.slice(0, 4)), name: file.slice(0, -4), breaking: /^-- breaking\b/.test(sql), sql };
    });
}

export interface AppliedRow {
  version: number;
  name: string;
  breaking: boolean;
}

export async function appliedMigrations(client: Queryable, bind: (text: string) => string): Promise<AppliedRow[]> {
  const { rows } = await client.query(
    bind(
      `/* outbox: read migrations */ SELECT version, name, breaking FROM :schema.outbox_migrations ORDER BY version`,
    ),
  );
  return rows as AppliedRow[];
}

export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
