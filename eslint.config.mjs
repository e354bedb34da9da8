import eslint from '@eslint/js';
import { builtinModules } from 'node:module';
import tseslint from 'typescript-eslint';

const nodeBuiltins = builtinModules.flatMap((name) => [name, `node:${name}`]);

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.outbox/', 'coverage/'] },
  eslint.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: {
          allowDefaultProject: [
            '*.mjs',
            'scripts/*.mjs',
            'test/support/*.mjs',
            'test/crash/*.mjs',
            'bench/handlers/*.mjs',
            'bench/telemetry/*.mjs',
          ],
          // More than the default of 8 small scripts; each costs the linter a moment.
          maximumDefaultProjectFileMatchCount_THIS_WILL_SLOW_DOWN_LINTING: 16,
        },
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
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly', fetch: 'readonly' } },
  },
);
