import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { startStandalone } from './servers/standalone.ts';
import { missingPart } from './shown.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const readme = await readFile(join(root, 'README.md'), 'utf8');

interface TourStep {
  readonly command: string;
  /** The reply as the README shows it: `…` stands for any text, and white space does not count. */
  readonly reply: string;
}

/** The commands of the tour: every `sh` block that calls curl, and the block that follows it. */
const tour: readonly TourStep[] = [...readme.matchAll(/```sh\n(curl [^`]*)```\n```\n([^`]*)```/g)].map(
  ([, command = '', reply = '']) => ({ command, reply }),
);

test('a shown reply is compared part by part, in order', (t) => {
  t.is(missingPart('{"a": "…", "b": […]}', '{"a":"1","b":[2,3]}'), undefined);
  t.is(missingPart('"b": … "a": …', '{"a":"1","b":[2,3]}'), '"a":');
});

test('each command of the tour answers what the README shows, in its order, on a fresh data folder', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-tour-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await using service = await startStandalone({ DATA_DIR: folder, SERVICE_CONFIG: join(root, 'service.json') });
  t.true(tour.length >= 10);
  t.is(tour.length, [...readme.matchAll(/^curl /gm)].length, 'a command without a reply');
  for (const { command, reply } of tour) {
    const { stdout } = await run('bash', [
      '-c',
      command.replaceAll('localhost:8000', service.url.replace('http://', '')),
    ]);
    t.is(missingPart(reply, stdout), undefined, `${command}\nanswered\n${stdout}`);
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

test('every file and folder that the pages at the root name is there', async (t) => {
  const pages = await Promise.all(['README.md', 'CONTRIBUTING.md'].map((page) => readFile(join(root, page), 'utf8')));
  const named = pages.flatMap((page) => [
    ...[...page.matchAll(/`((?:protos|services|gateway|deploy|test)\/[\w./-]*)`/g)].map(([, path = '']) => path),
    ...[...page.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path),
  ]);
  t.true(named.length > 50);
  t.deepEqual(
    named.filter((path) => !existsSync(join(root, path))),
    [],
  );
});

interface Installed {
  readonly packages: Readonly<Record<string, { readonly engines?: { readonly node?: string } }>>;
}
