import eslint from '@eslint/js';
import { builtinModules } from 'node:module';
import tseslint from 'typescript-eslint';

const nodeBuiltins = builtinModules.flatMap((name) => [name, `node:${name}`]);

/** All ways to read this machine's clock. */
const OWN_CLOCK = [
  `MemberExpression[object.name='Date'][property.name='now']`,
  `NewExpression[callee.name='Date'][arguments.length=0]`,
  `CallExpression[callee.name='Date']`,
  `MemberExpression[object.name='performance'][property.name='timeOrigin']`,
];
const USE_ANOTHER_CLOCK =
  'Take the time from PostgreSQL (clock_timestamp()), or a duration from performance.now(). Where neither can be, say why on the line before.';

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.outbox/', 'coverage/'] },
  eslint.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      eqeqeq: 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-deprecated': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // A `pg` row is `any`; each query function gives it its type in its signature.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      // Template literals with numbers are readable and safe; other types stay forbidden.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // An `_` says that a parameter is there for its position only.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    // What a lease, a due time or an age depends on is PostgreSQL's clock, and what only lasts is measured by
    // `performance.now()`, which nobody sets.
    files: ['src/**/*.ts', 'examples/movie-diary/src/**/*.ts'],
    ignores: [
      // A `Date` there is Temporal's time, the same in each replay.
      'src/workflows/**',
    ],
    rules: {
      'no-restricted-syntax': ['error', ...OWN_CLOCK.map((selector) => ({ selector, message: USE_ANOTHER_CLOCK }))],
    },
  },
  {
    // Workflow code runs in Temporal's sandbox: a Node builtin there breaks determinism, or the bundle.
    files: ['src/workflows/**'],
    rules: {
      'no-restricted-imports': ['error', { paths: nodeBuiltins }],
    },
  },
  {
    // Plain scripts run before `npm install` has: they know only Node, and are not part of the typed project.
    files: ['**/*.mjs'],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: {
      ...tseslint.configs.disableTypeChecked.languageOptions,
      globals: { process: 'readonly', console: 'readonly', URL: 'readonly', fetch: 'readonly' },
    },
  },
);
