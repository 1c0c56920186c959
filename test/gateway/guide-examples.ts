import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A block of commands of a page. */
interface Example {
  readonly commands: string;
  /** The refusal that the block says it shows. */
  readonly refusal?: { readonly status: number; readonly code: string };
  /** What the page shows as the reply, when it shows one. */
  readonly reply?: string;
}

/** What the commands of a block did. */
interface Outcome {
  readonly output: string;
  /** The status of each request. */
  readonly statuses: readonly number[];
}

/** The blocks of commands of a page, with what it says about each. */
export const examplesOf = (markdown: string): readonly Example[] =>
  [...markdown.matchAll(/^```sh\n(.*?)^```\n(?:```\n(.*?)^```\n)?/gms)].map(([, commands = '', reply]) => {
    const [, status, code = ''] = /^# answers (\d+) (\w+)\n/.exec(commands) ?? [];
    return {
      commands,
      ...(status !== undefined && { refusal: { status: Number(status), code } }),
      ...(reply !== undefined && { reply }),
    };
  });

/** Every request of `curl` writes its status after what the block writes, and none waits for ever. */
const curl = `curl() { command curl --max-time 60 --write-out '%{stderr}status %{http_code}\\n' "$@"; }`;

/** Runs the blocks of a page one after another in one shell: a block knows the variables of those before it. */
export async function runExamples(
  examples: readonly Example[],
  env: Readonly<Record<string, string>>,
): Promise<readonly Outcome[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-guide-'));
  try {
    const blocks = examples.map(({ commands }, index) => `{\n${commands}\n} >${index}.out 2>${index}.err`);
    const path = process.env['PATH'] ?? '';
    await run('bash', ['-euc', [curl, ...blocks].join('\n')], { cwd: folder, env: { PATH: path, ...env } });
    return await Promise.all(
      examples.map(async (_, index) => ({
        output: await readFile(join(folder, `${index}.out`), 'utf8'),
        statuses: statusesIn(await readFile(join(folder, `${index}.err`), 'utf8')),
      })),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

const statusesIn = (errors: string): readonly number[] =>
  [...errors.matchAll(/^status (\d+)$/gm)].map(([, status]) => Number(status));
