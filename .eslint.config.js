// Correctness rules of typescript-eslint, and what only one place may use. .dependency-cruiser.js has the rooms.
import tseslint from 'typescript-eslint';

/** Packages that only one file may know, so that changing one touches one place. */
const packageHomes = {
  'uWebSockets.js': 'src/http/uws.ts',
  lmdb: 'src/store/lmdb-index.ts',
  piscina: 'src/workers/hash-pool.ts',
  'prom-client': 'src/telemetry/metrics.ts',
  koffi: 'src/telemetry/sd-notify.ts',
};

const restricted = (names) => names.map((name) => ({ name, allowTypeImports: true }));

export default tseslint.config(
  { ignores: ['build/**', 'node_modules/**', 'coverage/**', '.tap/**', 'test/generators/bots/**'] },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json' } },
    rules: {
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
