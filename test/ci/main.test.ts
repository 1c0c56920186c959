import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { processEnv } from '@agent-workflow/kit/env';
import test, { type ExecutionContext } from 'ava';

const header = `import { existsSync, writeFileSync } from 'node:fs';
import fc from ${JSON.stringify(import.meta.resolve('fast-check'))};
import test from ${JSON.stringify(import.meta.resolve('ava'))};
`;
/** Fails where it has not run before. */
const flaky = (name: string): string => `test('a race', (t) => {
  const isFirst = !existsSync('${name}.ran');
  writeFileSync('${name}.ran', '');
  if (isFirst) throw new Error('too late');
  t.pass();
});`;
const counterexample = "test('a property', (t) => void fc.assert(fc.property(fc.nat(), (n) => t.is(n, 0))));";
const sound = "test('sound', (t) => t.pass());\ntest.skip('not here (npm run there)', () => undefined);";

test('a test file that fails runs once more, alone, and is flaky when it passes then', async (t) => {
  const { code, printed, flakyLines } = await runTests(t, { race: flaky('race'), sound });
  t.is(code, 0, printed);
  t.is(flakyLines, 'flaky: race.test.js: a race (Error: too late)\n');
  t.regex(printed, /\nskipped:\n {2}1: npm run there\n2 passed, 0 failed, 1 skipped\n$/);
});

test('of four such files none is excused', async (t) => {
  const races = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, flaky(name)]));
  const { code, printed, flakyLines } = await runTests(t, { ...races, sound });
  t.is(code, 1);
  t.is(flakyLines, undefined);
  t.regex(printed, /\n1 passed, 4 failed, 1 skipped\n$/);
});

test('a counterexample fails at once, and excuses nothing beside it', async (t) => {
  const { code, printed, flakyLines } = await runTests(t, { property: counterexample, race: flaky('race') });
  t.is(code, 1);
  t.is(flakyLines, undefined);
  t.notRegex(printed, /once more/);
});

test('a file that fails again has failed', async (t) => {
  const { code, printed, flakyLines } = await runTests(t, { broken: "test('broken', (t) => t.fail());", sound });
  t.is(code, 1);
  t.is(flakyLines, undefined);
  t.regex(printed, /once more, alone: broken\.test\.js\n/);
});

interface Result {
  readonly code: number;
  readonly printed: string;
  /** Absent: no file was flaky. */
  readonly flakyLines: string | undefined;
}

/** The program as CI runs it, in a project of these test files. */
async function runTests(t: ExecutionContext, files: Readonly<Record<string, string>>): Promise<Result> {
  const project = await mkdtemp(join(tmpdir(), 'agent-workflow-ci-'));
  t.teardown(() => rm(project, { recursive: true, force: true }));
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  const record = JSON.stringify(import.meta.resolve('./record.ts'));
  await writeFile(
    join(project, 'ava.config.js'),
    `import { recordEvents } from ${record}; export default {
  files: ['*.test.js'],
  nonSemVerExperiments: { observeRunsFromConfig: true },
  observeRun: ({ events }) => recordEvents(events, process.env.TEST_EVENTS),
};`,
  );
  for (const [name, body] of Object.entries(files)) await writeFile(join(project, `${name}.test.js`), header + body);
  const child = spawn(process.execPath, [fileURLToPath(new URL('./main.ts', import.meta.url)), '*.test.js'], {
    cwd: project,
    env: { ...processEnv(), FLAKY: join(project, 'flaky') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number]>]);
  return { code, printed, flakyLines: await readFile(join(project, 'flaky'), 'utf8').catch(() => undefined) };
}
