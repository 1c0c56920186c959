import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { dataPlace, openDataFolder } from './data-folder.ts';

test('a folder is held once in a process, and can be held again after it was released', (t) => {
  const folder = temporaryFolder(t);
  const first = openDataFolder(folder);
  t.is(first.pathOf('notes'), join(folder, 'notes'));
  t.throws(() => openDataFolder(folder), {
    name: 'ConfigError',
    message: `DATA_DIR ${folder} is in use by another process`,
  });
  first[Symbol.dispose]();
  openDataFolder(folder)[Symbol.dispose]();
});

test('a folder that this process holds is refused to another, and a dead process holds nothing', (t) => {
  const folder = temporaryFolder(t);
  t.is(holdElsewhere(folder), 'held');
  using _held = openDataFolder(folder);
  t.is(holdElsewhere(folder), 'refused');
});

test('a folder that cannot be made is an error, not one that is held', (t) => {
  const folder = temporaryFolder(t);
  openDataFolder(folder)[Symbol.dispose]();
  t.true(statSync(join(folder, 'lock.sqlite')).isFile());
  t.throws(() => openDataFolder(join(folder, 'lock.sqlite', 'below')), {
    name: 'ConfigError',
    message: /cannot be opened: the path leads through a file$/,
  });
});

test('a folder whose name is too long, or whose links lead in a circle, is refused by its reason', (t) => {
  const folder = temporaryFolder(t);
  const circle = join(folder, 'circle');
  symlinkSync(circle, circle);
  for (const [path, reason] of [
    [join(folder, 'x'.repeat(300)), 'its name is too long'],
    [circle, 'its links lead in a circle'],
    [join(circle, 'below'), 'its links lead in a circle'],
  ] as const)
    t.throws(() => openDataFolder(path), {
      name: 'ConfigError',
      message: `${join(path, 'lock.sqlite')} cannot be opened: ${reason}`,
    });
});

test('a folder is made with those above it, and the place of one that keeps nothing is no path', (t) => {
  const folder = join(temporaryFolder(t), 'two', 'levels');
  openDataFolder(folder)[Symbol.dispose]();
  t.true(statSync(join(folder, 'lock.sqlite')).isFile());
  t.is(statSync(folder).mode & 0o077, 0, 'no other user may look into it');
  t.is(dataPlace(folder), folder);
  t.is(dataPlace(':memory:'), 'in memory, gone when the process ends');
});

const onLinux = process.platform === 'linux' ? test : test.skip;
onLinux('a folder in a file system that takes none is refused at once', (t) => {
  for (const folder of ['/proc/absent', '/proc/absent/below'])
    t.throws(() => openDataFolder(folder), {
      name: 'ConfigError',
      message: 'DATA_DIR /proc/absent cannot be made: /proc takes no folders',
    });
});

function temporaryFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'data-folder-'));
  t.teardown(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Another process tries to hold the folder, and dies without releasing it. */
function holdElsewhere(folder: string): string {
  const source = `import { dataPlace, openDataFolder } from '${new URL('./data-folder.ts', import.meta.url).href}';
    let state = 'held';
    try { globalThis.held = openDataFolder(${JSON.stringify(folder)}); } catch { state = 'refused'; }
    process.stdout.write(state, () => process.kill(process.pid, 'SIGKILL'));`;
  try {
    return execFileSync(process.execPath, ['--input-type=module', '--eval', source], { encoding: 'utf8' });
  } catch (error) {
    return String((error as { stdout: unknown }).stdout);
  }
}
