import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { id, uri, version } from './fields';

const reaction = z.object({ userId: id, reviewUri: uri, version });
const define = <const Type extends string>(type: Type) =>
  defineEvent(type, { aggregateType: 'reaction', schema: reaction });

export const ReviewLiked = define('ReviewLiked');
export const ReviewUnliked = define('ReviewUnliked');
export const ReviewAnnounced = define('ReviewAnnounced');
export const ReviewUnannounced = define('ReviewUnannounced');
