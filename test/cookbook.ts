import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The agents of the cookbook with their tests: a project as an author has it. */
export const cookbook = fileURLToPath(new URL('cookbook', import.meta.url));

/** What `node --test` counts in the folder of the cookbook. */
export const cookbookResult = { tests: 16, pass: 16, fail: 0, skipped: 0 };

/**
 * Runs the tests of the cookbook, or of a copy of it, as `npm test` does there.
 * @throws Error with the report when a test fails.
 */
export async function testCookbook(folder: string): Promise<typeof cookbookResult> {
  const report = await reportOf(folder);
  const count = (what: string): number => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(report)?.[1]);
  return { tests: count('tests'), pass: count('pass'), fail: count('fail'), skipped: count('skipped') };
}

async function reportOf(folder: string): Promise<string> {
  try {
    return (await execute(process.execPath, ['--test', '--test-reporter=tap'], { cwd: folder })).stdout;
  } catch (error) {
    throw new Error((error as { readonly stdout: string }).stdout, { cause: error });
  }
}
