import type { Step } from './client';
import type { Phase } from './replay';

export type Side = Step['instance'];
export type Origins = Readonly<Record<Side, string>>;

export function put(instance: Side, path: string, body: object = {}): Step {
  return { instance, method: 'PUT', path, body };
}

/** @param suffix of the display name; with another one it is a change of the profile */
export function registration(instance: Side, name: string, suffix = ''): Step {
  return put(instance, `/users/${name}`, { displayName: `${name.slice(0, 1).toUpperCase()}${name.slice(1)}${suffix}` });
}

/** Each step may happen at the same time as the others. */
export function apart(steps: readonly Step[]): Phase {
  return steps.map((step) => [step]);
}

/** @param at where the actor is */
export function follow(instance: Side, [follower, actor]: readonly [string, string], at: string): Step {
  return put(instance, `/users/${follower}/remote-follows`, { actor: `${at}/users/${actor}` });
}
