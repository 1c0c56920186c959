import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const preflight = fileURLToPath(new URL('./preflight.js', import.meta.url));

for (const version of ['18.20.8', '20.20.2', '23.11.1', '24.11.9']) {
  test(`Node ${version} is refused with one line that says what to do`, (t) => {
    const { status, stdout, stderr } = runOn(version);
    t.is(status, 1);
    t.is(stdout, '');
    t.is(stderr.trimEnd().split('\n').length, 1);
    t.regex(stderr, new RegExp(`24\\.12 or newer is needed, this is ${version.replaceAll('.', '\\.')}\\..*npm ci`));
  });
}

for (const version of ['24.12.0', '25.0.0', process.versions.node]) {
  test(`Node ${version} passes in silence`, (t) => {
    t.like(runOn(version), { status: 0, stdout: '', stderr: '' });
  });
}

/** Runs the preflight on this Node, with another number in `process.versions`. */
function runOn(version: string): SpawnSyncReturns<string> {
  const disguise = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
  const disguised = ['--import', `data:text/javascript,${encodeURIComponent(disguise)}`, preflight];
  return spawnSync(process.execPath, disguised, { encoding: 'utf8' });
}
