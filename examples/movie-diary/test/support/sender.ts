import { randomUUID } from 'node:crypto';
import { sign } from '../../src/adapters/http/signature';
import type { Actor } from '../../src/domain/actor';
import type { TestDiary } from './diary';
import type { RemoteInstance } from './remoteInstance';

export type Sender = Actor & { readonly privateKey: string };

export interface Sent {
  readonly id: string;
  readonly type: string;
  readonly actor: string;
  readonly [field: string]: unknown;
}

/** An actor of another instance whom nobody has heard of yet. */
export function newSender(there: RemoteInstance): Sender {
  return there.actor(`a${randomUUID().slice(0, 8)}`);
}

/** An activity of this actor, under an id of its own. */
export function activity({ id: actor }: Pick<Actor, 'id'>, type: string, rest: object = {}): Sent {
  return { id: `${actor.replace(/\/users\/.*/, '')}/activities/${randomUUID()}`, type, actor, version: 1, ...rest };
}

/** A review as another instance tells of it. */
export function note({ id: attributedTo }: Pick<Actor, 'id'>, uri: string, version: number, changes: object = {}) {
  const content = { rating: version, comment: `version ${version}`, watchedOn: '2024-02-01' };
  const film = { number: 7, title: 'The Third Man' };
  return { id: uri, type: 'Note', attributedTo, film, ...content, version, ...changes };
}

export function newReviewUri({ id }: Pick<Actor, 'id'>): string {
  return `${id.replace(/\/users\/.*/, '')}/reviews/${randomUUID()}`;
}

/** Posts to an inbox here, signed with the key of `sender`. @returns the answer's status and text */
export async function post(
  diary: TestDiary,
  user: string,
  sender: Sender,
  sent: object | string,
): Promise<{ status: number; error: string | undefined }> {
  const url = `${diary.origin}/users/${user}/inbox`;
  const body = typeof sent === 'string' ? sent : JSON.stringify(sent);
  const request = { method: 'POST', url, headers: { 'content-type': 'application/activity+json' }, body };
  const headers = await sign(request, { id: sender.publicKey.id, privateKey: sender.privateKey });
  return send(url, body, headers);
}

export async function send(url: string, body: string, headers: Record<string, string>) {
  const answer = await fetch(url, { method: 'POST', headers, body });
  const text = await answer.text();
  return { status: answer.status, error: text ? (JSON.parse(text) as { error: string }).error : undefined };
}

/** The answer to a Follow. */
export function acceptOf(actor: { id: string }, follower: string, version: number): Sent {
  return activity(actor, 'Accept', { object: { type: 'Follow', actor: follower, object: actor.id, version }, version });
}
