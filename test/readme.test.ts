import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { startStandalone } from './servers/standalone.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const readme = await readFile(join(root, 'README.md'), 'utf8');

interface TourStep {
  readonly command: string;
  /** What the answer must hold. */
  readonly expected: readonly string[];
}

/** The commands of the tour: every `sh` block that calls curl, with the answers said below it. */
const tour: readonly TourStep[] = [...readme.matchAll(/```sh\n(curl [\s\S]*?)```/g)].map(([, block = '']) => {
  const lines = block.trimEnd().split('\n');
  return {
    command: lines.filter((line) => !line.startsWith('# ')).join('\n'),
    expected: lines.filter((line) => line.startsWith('# ')).map((line) => line.slice(2)),
  };
});

test('each command of the tour answers what the README says, in its order, on a fresh data folder', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-tour-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await using service = await startStandalone({ DATA_DIR: folder, SERVICE_CONFIG: join(root, 'service.json') });
  t.true(tour.length >= 10);
  for (const { command, expected } of tour) {
    const { stdout } = await run('bash', [
      '-c',
      command.replaceAll('localhost:8000', service.url.replace('http://', '')),
    ]);
    t.true(expected.length > 0, command);
    for (const text of expected) t.true(stdout.includes(text), `${command}\nanswered\n${stdout}\nand not\n${text}`);
  }
});

test('the Node that the README asks for is the one that npm asks for, and an older one is not refused', async (t) => {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { engines: { node: string } };
  const [, asked] = /^Node (\d+) or later with npm/m.exec(readme) ?? [];
  t.is(engines.node, `>=${asked}`);
  const { packages } = JSON.parse(await readFile(join(root, 'node_modules/.package-lock.json'), 'utf8')) as Installed;
  t.regex(packages['node_modules/ava']?.engines?.node ?? '', new RegExp(`\\^${asked}\\.`), 'what ava asks for');
  t.notRegex(await readFile(join(root, '.npmrc'), 'utf8'), /engine-strict/);
});

interface Installed {
  readonly packages: Readonly<Record<string, { readonly engines?: { readonly node?: string } }>>;
}
