export const PATHS = [
  ...(['claim', 'publish', 'mark', 'receive', 'fast path'] as const),
  ...(['delivery run', 're-emit', 'prune', 'migrate', 'start'] as const),
] as const;
/** What a process does when it gets there; `start` is that of a worker, until it is ready. */
export type Path = (typeof PATHS)[number];

export type Backend = 'db' | 'nats';
export const BOTH: readonly Backend[] = ['db', 'nats'];

/** Statements that a kill must not find half done. A lock is none by itself: who dies gives it back. */
export const WRITES = new RegExp(
  [
    /\b(?:INSERT\s+INTO|UPDATE\s+(?!SKIP\b|OF\b)[:\w"]+|DELETE\s+FROM|MERGE\s+INTO|CREATE|ALTER|DROP|TRUNCATE|COPY)\b/,
    /\b(?:GRANT|REVOKE|COMMENT\s+ON|REFRESH|REINDEX|CLUSTER|CALL|COMMIT|NOTIFY|pg_notify|PREPARE\s+TRANSACTION)\b/,
    // Not what ON CONFLICT says; and what SELECT makes a table of.
    /^(?:\s|\/\*[^*]*\*\/)*DO\b|\bINTO\s+[:\w"]/,
    // Functions that write, or that reach into another session.
    /\b(?:setval|nextval|lo_\w+|dblink\w*|pg_(?:advisory|terminate|cancel|drop|create|logical|replication)\w*)\s*\(/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

/**
 * An effect, before and after which a process can be killed. Its name is that of `effectNames.mjs`: what the process does
 * there, as it is seen from outside.
 */
export interface Point {
  readonly name: string;
  readonly path: Path;
  /** With which it is visited; none: where no backend plays a part, once. */
  readonly backends: readonly Backend[];
  /** Where it stands in `src/`, as `sourceEffects.ts` says it. Of a statement: nowhere else than under its name. */
  readonly source: readonly string[];
}

/** Points of one path. A statement's place is its name; a call's is given. */
export function pointsOf(
  path: Path,
  backends: readonly Backend[],
  given: Readonly<Record<string, readonly string[]>>,
): Point[] {
  return Object.entries(given).map(([name, source]) => ({
    ...{ name, path, backends },
    source: name.startsWith('sql ') ? [name] : source,
  }));
}
