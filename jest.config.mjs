// Inline and without .swcrc: Temporal's workflow bundler would read one too, and fail on it.
const swc = (syntax) => [
  '@swc/jest',
  { swcrc: false, jsc: { target: 'es2022', parser: { syntax } }, module: { type: 'commonjs' } },
];

/** @type {import('jest').Config} */
const config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test', '<rootDir>/examples/movie-diary/test'],
  testMatch: ['**/*.test.ts'],
  transform: {
    '^.+\\.ts$': swc('typescript'),
    // ES modules only, which jest cannot load as they are.
    '/node_modules/(arktype|arkregex|@ark)/.+\\.js$': swc('ecmascript'),
  },
  transformIgnorePatterns: ['/node_modules/(?!(arktype|arkregex|@ark)/)'],
  // The example imports the package by name; its tests run it over the sources, as one copy with the test's own.
  moduleNameMapper: {
    '^temporal-outbox$': '<rootDir>/src/index.ts',
    '^temporal-outbox/producer$': '<rootDir>/src/producer.ts',
    '^temporal-outbox/servers$': '<rootDir>/src/servers/index.ts',
  },
  globalSetup: '<rootDir>/test/support/globalSetup.ts',
  globalTeardown: '<rootDir>/test/support/globalTeardown.ts',
  // For two cores: what a file does is for a third of the time to wait, for leases and back-off above all.
  maxWorkers: 3,
  testSequencer: '<rootDir>/test/support/longFirst.mjs',
  // Real servers on a shared machine: a test waits for events, never for time, so this bounds only what hangs.
  testTimeout: 180_000,
  reporters: ['default', '<rootDir>/test/support/closingLine.mjs'],
};

export default config;
