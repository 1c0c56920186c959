import { fileURLToPath } from 'node:url';
import type { UserConfig } from 'vite';

/** Everything is a file of its own, so that the page keeps a policy without inline scripts and styles. */
export const config = {
  configFile: false,
  root: fileURLToPath(new URL('.', import.meta.url)),
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
} satisfies UserConfig & { readonly configFile: false };
