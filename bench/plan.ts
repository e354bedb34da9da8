import type { Database } from '../src/postgres/database';

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: Node[];
}

export interface PlanFacts {
  /** How `event_queue` is read, node by node. */
  readonly scans: string[];
  /** Rows of `event_queue` that the scans looked at, those that a filter then dropped included. */
  readonly rowsRead: number;
  readonly sequential: boolean;
  /** Pages touched by the whole statement, from memory or not. */
  readonly buffers: number;
}

/** Runs the statement under EXPLAIN ANALYZE in a transaction that is rolled back. Wants a pool of one connection. */
export async function readPlan(db: Database, text: string, values: unknown[]): Promise<PlanFacts> {
  await db.query('BEGIN');
  const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
    values,
  );
  await db.query('ROLLBACK');
  const root = rows[0]?.['QUERY PLAN'][0].Plan;
  if (!root) throw new Error('EXPLAIN answered without a plan');
  const scans = nodesOf(root).filter((node) => / Scan$/.test(node['Node Type']) && readsQueue(node));
  return {
    scans: scans.map((node) => [node['Node Type'], node['Index Name']].filter(Boolean).join(' ')),
    rowsRead: scans.reduce((total, node) => total + rowsOf(node), 0),
    sequential: scans.some((node) => node['Node Type'] === 'Seq Scan'),
    buffers: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
  };
}

function nodesOf(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** A bitmap index scan names its index alone. */
function readsQueue(node: Node): boolean {
  return node['Relation Name'] === 'event_queue' || Boolean(node['Index Name']?.startsWith('event_queue'));
}

function rowsOf(node: Node): number {
  const dropped = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return (node['Actual Rows'] + dropped) * node['Actual Loops'];
}
