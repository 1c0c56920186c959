import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { processEnv } from '@agent-workflow/kit/env';
import { leftOut } from './left-out.ts';
import { readOutcomes, type Outcome } from './record.ts';
import { countOutcomes, failedFiles, filesToRepeat, skippedByReason, type Failed } from './verdict.ts';

/**
 * `node test/ci/main.ts [arguments of ava]`: runs ava, on all files but those of `left-out.ts` where none are named, says what was skipped and why, and ends with `N passed, N failed, N skipped`. Where `FLAKY`
 * names a file, as in CI, a test file that fails runs once more, alone, and one that passes then is a line there and no failure.
 */
const args = process.argv.slice(2);
const { FLAKY: flakyPath = '' } = processEnv();
const ava = fileURLToPath(new URL('./cli.js', import.meta.resolve('ava')));
const print = (line: string): void => void process.stdout.write(`${line}\n`);

interface Run {
  readonly isPassed: boolean;
  readonly outcomes: readonly Outcome[];
}

async function runAva(given: readonly string[]): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-workflow-tests-'));
  const path = join(folder, 'events');
  try {
    const colors = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
    const child = spawn(process.execPath, [ava, ...given], {
      // Every file is a process: each after the first finds compiled what it imports.
      env: { NODE_COMPILE_CACHE: resolve('.cache', 'compiled'), ...processEnv(), ...colors, TEST_EVENTS: path },
      stdio: ['inherit', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit') as Promise<[number | null]>;
    for await (const line of createInterface({ input: child.stdout }))
      if (!line.includes('Experiments are enabled')) print(line);
    const [code] = await ended;
    return { isPassed: code === 0, outcomes: existsSync(path) ? readOutcomes(readFileSync(path, 'utf8')) : [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const flakyBefore = (): number => (existsSync(flakyPath) ? readFileSync(flakyPath, 'utf8').split('\n').length - 1 : 0);

/** Files that failed and pass alone, with what became of their tests then. */
async function repeat({ outcomes }: Run): Promise<ReadonlyMap<string, readonly Outcome[]>> {
  const options = args.filter((arg) => arg.startsWith('--') && !arg.startsWith('--concurrency'));
  const passed = new Map<string, readonly Outcome[]>();
  for (const failed of flakyPath === '' ? [] : filesToRepeat(outcomes, flakyBefore())) {
    print(`--- once more, alone: ${failed.file}`);
    const again = await runAva([...options, failed.file]);
    if (!again.isPassed || again.outcomes.every(({ what }) => what !== 'passed')) continue;
    passed.set(failed.file, again.outcomes);
    appendFileSync(flakyPath, `flaky: ${inWords(failed)}\n`);
  }
  return passed;
}

const inWords = ({ file, title, reason }: Failed): string => `${file}: ${title} (${reason})`;

const isAll = args.every((arg) => arg.startsWith('-'));
const allFiles = ['**/*.test.ts', ...Object.values(leftOut).flatMap((patterns) => patterns.map((each) => `!${each}`))];

const first = await runAva(isAll ? [...args, ...allFiles] : args);
const repeated = await repeat(first);
const isExcused = first.isPassed || (repeated.size > 0 && repeated.size === failedFiles(first.outcomes).length);
const { passed, failed, skipped } = countOutcomes(first.outcomes, repeated);
for (const each of failedFiles(first.outcomes)) if (!repeated.has(each.file)) print(`failed: ${inWords(each)}`);
const reasons = skippedByReason(first.outcomes);
if (reasons.length > 0) print(`\nskipped:\n${reasons.map((line) => `  ${line}`).join('\n')}`);
if (isAll) print('\nfiles that other commands run:');
for (const [command, patterns] of isAll ? Object.entries(leftOut) : [])
  print(`  ${globSync([...patterns]).length}: npm run ${command}`);
print(`${passed} passed, ${isExcused ? 0 : Math.max(1, failed)} failed, ${skipped} skipped`);
process.exitCode = isExcused ? 0 : 1;
