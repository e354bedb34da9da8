import type { NewEvent } from '../../src/event';
import type { Settings } from '../support/outbox';
import type { Backend, Path, Point } from './points/point';
import { POINTS } from './points/catalog';
import type { CrashWorld, Fault } from './world';

/** What leads to a point, and what is to be seen to while a process dies there. */
export interface Situation {
  readonly events: readonly NewEvent[];
  /** A file that their handlers wait for: made, with the plan, once they have been handed over to delivery runs. */
  readonly gate?: string;
  /** Workers are told to stop: one that runs a handler of these events; or all, with what they claimed and have not begun. */
  readonly stops?: 'at work' | 'rows claimed' | 'handlings claimed';
  /** Before anything is enqueued. */
  readonly arrange?: (world: CrashWorld) => Promise<void>;
  /** Once the events are there and the plan is made. */
  readonly act?: (world: CrashWorld, ids: readonly string[], side: Fault['when']) => Promise<unknown>;
  /** After the deaths, and before everything is waited for. */
  readonly heal?: (world: CrashWorld, ids: readonly string[]) => Promise<unknown>;
  /** The events were not handled by the handlers, so that these have written nothing down. */
  readonly unentered?: boolean;
  /** Their handlers, which fail, are given up on purpose: none comes to its end, and what tells of it stays. */
  readonly skipped?: boolean;
  /** Of its workers; visits with the same settings share them. */
  readonly settings?: Settings;
}

/** A point together with one way to it. */
export interface Visit extends Situation {
  readonly point: string;
  /** Tells it from other ways to the same point. */
  readonly by?: string;
  readonly match?: string;
  readonly nth?: number;
  /** In `npm test` too, although it is not the first way to its point. */
  readonly always?: boolean;
  /** Default: both sides. Inside of a handler there is only one. */
  readonly sides?: readonly Fault['when'][];
}

export const SIDES = ['before', 'after'] as const;

export function titleOf({ point, by }: Visit, side: Fault['when']): string {
  return `killed ${side} ${point}${by === undefined ? '' : `, ${by}`}`;
}

/** @throws when a point of these paths has no visit, or a visit no point */
export function visited(backend: Backend, paths: readonly Path[], visits: readonly Visit[]): readonly Visit[] {
  const points = POINTS.filter((point) => paths.includes(point.path) && point.backends.includes(backend));
  const unvisited = points.filter(({ name }) => !visits.some(({ point }) => point === name));
  const unknown = visits.filter(({ point }) => !POINTS.some(({ name }) => name === point));
  if (unvisited.length + unknown.length === 0) return visits;
  throw new Error(
    `backend ${backend}: never visited: ${namesOf(unvisited)}; not in the catalog: ${unknown.map(({ point }) => point).join(', ')}`,
  );
}

function namesOf(points: readonly Point[]): string {
  return points.map(({ name }) => name).join(', ');
}
