/** `node services/playground/build.ts`: builds the page into `dist`, unless it is newer than all that it is made of. */
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { globSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

readCommandLine({
  usage: `usage: npm run playground
  Builds the page, unless it is newer than all that it is made of`,
});

const here = fileURLToPath(new URL('.', import.meta.url));
const builtAt = statSync(`${here}dist/index.html`, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** The client and what it takes from the kit are part of the page. */
const sources = globSync(['**/*.{ts,tsx,css,html}', '../client/*.ts', '../kit/*.ts', '../../package-lock.json'], {
  cwd: here,
  exclude: ['dist/**', 'node_modules/**'],
});

// Everything is a file of its own, so that the page keeps a policy without inline scripts and styles.
if (sources.some((file) => statSync(here + file).mtimeMs > builtAt))
  await build({
    configFile: false,
    root: here,
    base: '/playground/',
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: 'dist',
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: 'es2023',
    },
  });
