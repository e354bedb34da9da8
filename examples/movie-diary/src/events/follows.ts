import { defineEvent } from 'temporal-outbox/producer';
import { z } from 'zod';
import { id, uri, version } from './fields';

const local = z.object({ followerId: id, followeeId: id, version });
const remote = z.object({ userId: id, actor: uri, version });
const follow = <const Type extends string, Schema extends typeof local | typeof remote>(type: Type, schema: Schema) =>
  defineEvent(type, { aggregateType: 'follow', schema });

export const UserFollowed = follow('UserFollowed', local);
export const UserUnfollowed = follow('UserUnfollowed', local);

/** A local user asks to follow an actor elsewhere. */
export const RemoteFollowRequested = follow('RemoteFollowRequested', remote);
/** The actor elsewhere has agreed. */
export const RemoteFollowAccepted = follow('RemoteFollowAccepted', remote);
export const RemoteFollowEnded = follow('RemoteFollowEnded', remote);

/** An actor elsewhere follows a local user from now on. */
export const RemoteFollowerAccepted = follow('RemoteFollowerAccepted', remote);
export const RemoteFollowerRemoved = follow('RemoteFollowerRemoved', remote);

export const ActorBlocked = follow('ActorBlocked', remote);
export const ActorUnblocked = follow('ActorUnblocked', remote);
