/** What the global set-up hands to each test file, through a variable because they are processes of their own. */
export interface TestEnvironment {
  readonly postgresUrl: string;
  readonly natsUrl: string;
  readonly temporalAddress: string;
  readonly workflowBundle: string;
  readonly directory: string;
}

export const TEMPLATE_DATABASE = 'outbox_template';
export const TEMPLATE_SCHEMA = 'outbox_template';
/** Roles of the server, for tests that run under them. */
export const TEST_ROLES = { app: 'outbox_test_app', worker: 'outbox_test_worker', operator: 'outbox_test_operator' };

export function testEnvironment(): TestEnvironment {
  const text = process.env.OUTBOX_TEST;
  if (!text) throw new Error('The test servers do not run; start the tests with `npm test` or `npx jest`');
  return JSON.parse(text) as TestEnvironment;
}

declare global {
  var outboxTestServers: { stop(): Promise<void>; directory: string } | undefined;
}
