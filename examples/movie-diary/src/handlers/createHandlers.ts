import type { Handler } from 'temporal-outbox';
import type { Connection } from '../adapters/postgres/connection';
import { searchIndex } from './searchIndex';
import { searchRemoval } from './searchRemoval';
import { wrapUp } from './wrapUp';

export interface HandlerDeps {
  /** Transactions of its own, for handlers whose effects lie elsewhere. */
  readonly connection: Connection;
}

/** Every handler of this application; each worker runs all of them. */
export function createHandlers({ connection }: HandlerDeps): Handler[] {
  return [searchIndex(), searchRemoval(), wrapUp(connection)];
}
