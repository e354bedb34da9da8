/** @type {import('jest').Config} */
const config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // Inline and without .swcrc: Temporal's workflow bundler would read one too, and fail on it.
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { swcrc: false, jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  globalSetup: '<rootDir>/test/support/globalSetup.ts',
  globalTeardown: '<rootDir>/test/support/globalTeardown.ts',
  // Two cores are what the suite is sized for; the servers share them.
  maxWorkers: 2,
  // Real servers on a shared machine: a test waits for events, never for time, so this bounds only what hangs.
  testTimeout: 60_000,
  reporters: ['default', '<rootDir>/test/support/closingLine.mjs'],
};

export default config;
