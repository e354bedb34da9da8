import { undoId, type Activity } from './activity';
import type { Occurrence } from './occurrence';

/** Takes an activity back. It holds the whole of it: a receiver that never had the original knows what is meant. */
export function undo({ origin, actor, version, published }: Occurrence, original: Activity): Activity {
  return { id: undoId(origin, original.id), type: 'Undo', actor, version, published, object: original };
}

/** A block and its end are told to the one who is blocked, who is told nothing else. */
export function isAboutBlock({ type, object }: Activity): boolean {
  return type === 'Block' || (type === 'Undo' && (object as Activity).type === 'Block');
}
