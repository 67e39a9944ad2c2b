// Correctness rules of typescript-eslint, and the house's import boundaries as a table.
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import { importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

const domain = ['auth', 'signals', 'events', 'quota', 'store', 'model', 'retention'];
const adapters = ['http', 'plugins', 'workers', 'telemetry'];
const outer = ['gateway.ts', 'main.ts', 'cli', 'terminal', 'client'];

/** What each room of src/ must not import. */
const forbidden = {
  lib: [...domain, ...adapters, ...outer, 'endpoints', 'limits.ts', 'errors.ts', 'settings.ts'],
  auth: [...adapters, ...outer, 'endpoints'],
  signals: [...adapters, ...outer, 'endpoints'],
  events: [...adapters, ...outer, 'endpoints'],
  quota: [...adapters, ...outer, 'endpoints'],
  store: [...adapters, ...outer, 'endpoints'],
  http: [...outer, 'endpoints', 'plugins', 'workers'],
  plugins: [...outer, 'endpoints', 'workers'],
  workers: [...outer, 'endpoints', 'http', 'plugins', 'signals', 'events', 'store'],
  endpoints: [...outer, 'openapi'],
  openapi: [...outer, ...adapters],
  client: [...domain, ...adapters, 'endpoints', 'gateway.ts', 'main.ts', 'cli', 'terminal'],
};

/** Packages that only one file may know, so that changing one touches one place. */
const packageHomes = {
  'uWebSockets.js': 'src/http/uws.ts',
  lmdb: 'src/store/lmdb-store.ts',
  piscina: 'src/workers/hash-pool.ts',
  'prom-client': 'src/telemetry/metrics.ts',
  koffi: 'src/telemetry/sd-notify.ts',
};

const restricted = (names) => names.map((name) => ({ name, allowTypeImports: true }));

export default tseslint.config(
  { ignores: ['build/**', 'node_modules/**', 'coverage/**', '.tap/**'] },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { project: './tsconfig.json' } },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver()] },
    rules: {
      'import-x/no-cycle': 'error',
      'import-x/no-restricted-paths': [
        'error',
        {
          zones: Object.entries(forbidden).map(([room, rooms]) => ({
            target: `./src/${room}`,
            from: rooms.map((name) => `./src/${name}`),
          })),
        },
      ],
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: true },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { paths: restricted(Object.keys(packageHomes)) },
      ],
    },
  },
  ...Object.entries(packageHomes).map(([name, home]) => ({
    files: [home],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { paths: restricted(Object.keys(packageHomes).filter((other) => other !== name)) },
      ],
    },
  })),
  {
    files: ['src/**/*.ts'],
    ignores: ['src/lib/**', 'src/terminal/**', 'src/cli/**', 'src/client/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time comes from the clock.' },
        { object: 'Math', property: 'random', message: 'Chance comes from lib/ids.' },
      ],
      'no-restricted-globals': ['error', 'setTimeout', 'setInterval', 'performance'],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      // A fifth of the linter's time; tests pass objects that play a part of a class.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
);
