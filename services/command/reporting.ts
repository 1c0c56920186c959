import { catchUncaughtErrors } from '@agent-workflow/execution/watchdog/watchdog';
import { ConfigError } from '@agent-workflow/kit/env';
import { isServiceError } from '@agent-workflow/kit/errors';
import { endSoon } from '@agent-workflow/runtime/process';
import { reasonOf } from '@agent-workflow/runtime/reason';

/** Prints lines to standard output. */
export const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

/** What code of an agent leaves behind stops no start, which logs it. It is caught until the process ends. */
const warnOfLeftErrors = (): void =>
  void catchUncaughtErrors(({ err }, what) => process.stderr.write(`warning: ${what}: ${err.stack ?? err.message}\n`));

/** Does the work of a command, and prints why it fails where that is nobody's fault but of what is around it. @returns the exit code */
export async function reporting(work: () => Promise<void>): Promise<number> {
  warnOfLeftErrors();
  try {
    await work();
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError || isServiceError(error))) throw error;
    process.stderr.write(`${isServiceError(error, 'Unavailable') ? reasonOf(error) : error.message}\n`);
    return 1;
  } finally {
    endSoon();
  }
}
