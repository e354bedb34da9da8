import type { History, Rule, Violation } from './history';
import { acknowledged } from './rules/acknowledged';
import { dead } from './rules/dead';
import { effects } from './rules/effects';
import { left } from './rules/left';
import { lost } from './rules/lost';
import { paused } from './rules/paused';
import { removed } from './rules/removed';
import { revived } from './rules/revived';
import { schedule } from './rules/schedule';
import { storedTwice } from './rules/storedTwice';
import { together } from './rules/together';
import { uncommitted } from './rules/uncommitted';

export const RULES: Readonly<Record<string, Rule>> = {
  acknowledged,
  lost,
  uncommitted,
  effects,
  together,
  schedule,
  dead,
  left,
  'stored twice': storedTwice,
  paused,
  revived,
  removed,
};

/** Holds a history against every rule. */
export function check(history: History): Violation[] {
  return Object.values(RULES).flatMap((rule) => rule(history));
}
