/** A state and when it began: ISO 8601, workflow time. */
export interface Since<State> {
  readonly state: State;
  readonly at: string;
}

/** The same while the state is; a new one when it has changed. */
export function sinceOf<State>(before: Since<State> | undefined, state: State, now: Date): Since<State> {
  return before?.state === state ? before : { state, at: now.toISOString() };
}
