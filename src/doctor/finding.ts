import type { NatsLink } from '../broker/link';
import type { Config } from '../config';
import type { Database } from '../postgres/database';
import type { TemporalClient } from '../temporal/client';

/** `unknown`: the check could not be made, and `what` says why. */
export type Level = 'ok' | 'warning' | 'fault' | 'unknown';

export interface Finding {
  readonly check: string;
  readonly level: Level;
  /** One sentence, without a secret. */
  readonly what: string;
  /** What to do about it, with the exact command where there is one. Null where nothing is to be done. */
  readonly todo: string | null;
}

/** What checks look at. */
export interface Patient {
  readonly config: Config;
  readonly db: Database;
  /** An application's role whose privileges are looked at, too. */
  readonly appRole: string | undefined;
  /** @throws Error that says why it cannot be reached */
  nats(): Promise<NatsLink>;
  /** @throws Error that says why it cannot be reached */
  temporal(): Promise<TemporalClient>;
}

/** One thing that is looked at. Only reads. What it throws is told as `unknown`. */
export interface Check {
  readonly name: string;
  /** Which settings have a use for it. Default: all. */
  readonly concerns?: (config: Config) => boolean;
  readonly look: (patient: Patient) => Promise<Found[]>;
}

export type Found = Omit<Finding, 'check'>;

export const ok = (what: string): Found => ({ level: 'ok', what, todo: null });
export const warning = (what: string, todo: string): Found => ({ level: 'warning', what, todo });
export const fault = (what: string, todo: string): Found => ({ level: 'fault', what, todo });
export const unknown = (what: string, todo: string | null = null): Found => ({ level: 'unknown', what, todo });

export const usesNats = ({ backend }: Config): boolean => backend === 'nats';
export const usesStream = ({ backend, nats }: Config): boolean => backend === 'nats' && nats.mode === 'jetstream';
