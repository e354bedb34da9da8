import { undoId, type Activity } from './activity';
import type { Occurrence } from './occurrence';

/** Takes an activity back. It holds the whole of it: a receiver that never had the original knows what is meant. */
export function undo({ origin, actor, version, published }: Occurrence, original: Activity): Activity {
  return { id: undoId(origin, original.id), type: 'Undo', actor, version, published, object: original };
}

/**
 * A block, its end, and the end of our follow that it brings about are told to the one who is blocked, who is told nothing
 * else. Not knowing of that end, the other instance would go on sending what is refused here.
 */
export function isAboutBlock({ type, object }: Activity): boolean {
  return type === 'Block' || (type === 'Undo' && ['Block', 'Follow'].includes((object as Activity).type));
}
