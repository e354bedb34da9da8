/** The environment without the test run's own variables, which are none of the application's. */
export function withoutAddresses(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(OUTBOX_|EVENT_|NATS_|TEMPORAL_|DATABASE_URL|JEST_|NODE_ENV)/.test(name)),
  );
}
