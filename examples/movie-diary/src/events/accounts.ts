import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { displayName, id, uri, userName, version } from './fields';

export const UserRegistered = defineEvent('UserRegistered', {
  aggregateType: 'user',
  schema: z.object({ userId: id, name: userName }),
});
export const ProfileUpdated = defineEvent('ProfileUpdated', {
  aggregateType: 'user',
  schema: z.object({ userId: id, displayName, movedTo: uri.nullable(), version }),
});
/** The user goes on as another actor, and tells the followers so. */
export const AccountMoved = defineEvent('AccountMoved', {
  aggregateType: 'user',
  schema: z.object({ userId: id, target: uri, version }),
});
