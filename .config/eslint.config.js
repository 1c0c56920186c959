import { fileURLToPath } from 'node:url';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const root = fileURLToPath(new URL('..', import.meta.url));

// ESLint reads its own configuration from a default export: the one place that has one.
const noDefaultExport = {
  selector: 'ExportDefaultDeclaration, ExportSpecifier[exported.name="default"]',
  message: 'Export by name: a name that greps the same everywhere.',
};
const noEnum = { selector: 'TSEnumDeclaration', message: 'A union of texts does it, and strips.' };

export default defineConfig(
  globalIgnores(['**/node_modules/', '**/dist/', '.cache/', '.data/', 'coverage/', 'test/bench/results/']),
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['tsconfig.base.json', 'services/playground/tsconfig.json', 'test/browser/tsconfig.json'],
        tsconfigRootDir: root,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-console': 'error',
      eqeqeq: 'error',
      'no-restricted-syntax': ['error', noDefaultExport, noEnum],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // A number in a message reads the same with and without String().
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => stream.end()` as a callback says all there is to say.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // A port's method is async whether or not its adapter has anything to wait for: SQLite answers at once.
      '@typescript-eslint/require-await': 'off',
      // `await using _lock` is there for its end; `_request` holds the place of an argument.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Its way out is `!`, which strict refuses; `as number` on an index known to be in range at least names the type.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // The compiler asks for `fields['name']` where a name is not declared; the two rules would contradict each other.
      '@typescript-eslint/dot-notation': 'off',
      // `while (true)` is how a loop that ends by return says so.
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
    },
  },
  {
    files: ['**/*.js'],
    rules: { eqeqeq: 'error', 'no-unused-vars': 'error', 'no-undef': 'off' },
  },
  {
    // Written as node:test is used by everybody.
    files: ['services/command/init/template/**', 'test/cookbook/tests/**'],
    rules: { '@typescript-eslint/no-floating-promises': 'off', '@typescript-eslint/no-unsafe-argument': 'off' },
  },
  {
    // The bench prints its table; the preflight speaks to a person before anything else can.
    files: ['test/bench/**', 'services/standalone/preflight.js'],
    rules: { 'no-console': 'off' },
  },
);
