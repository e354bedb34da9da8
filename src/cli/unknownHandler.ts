import { countByHandler } from '../deliveries/handlerCounts';
import type { Database } from '../postgres/database';
import { note, plain } from './output';

/**
 * For a list by handler that came out empty: says when no handler of that name is known here. Without it a misspelled
 * name reads as good news.
 */
export async function noteIfUnknown(db: Database, handler: string | undefined): Promise<void> {
  if (handler === undefined) return;
  const known = (await countByHandler(db)).map((each) => each.handler);
  if (known.includes(handler)) return;
  const others = known.length > 0 ? `Known are: ${known.map(plain).join(', ')}.` : 'None is.';
  note(`No handler ${plain(handler)} is known here. ${others}`);
}
