// Runs after every install, on any version of Node: so it is plain JavaScript. An install without what the page is built with
// (`--omit=dev`) builds no page, and the service answers without it.
import { existsSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const isHere = (path) => existsSync(new URL(`../../node_modules/${path}`, import.meta.url));
if (isHere('vite/package.json') && isHere('preact/package.json')) {
  const { status } = spawnSync('node', [fileURLToPath(new URL('build.ts', import.meta.url))], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
