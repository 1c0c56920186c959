import { messageOf } from '@agent-workflow/graph/state/failure';
import { codeOrigin } from './code.ts';
import type { CodeOrigin } from './origin.ts';

/** What an error is reported with: `err`, and the run and node of its code where they are known. */
interface Reported extends CodeOrigin {
  readonly err: { readonly message: string; readonly stack?: string };
}

/**
 * Handles uncaught errors: those of timers, listeners and promises that code left behind. An error of an agent's code is reported
 * with its run and node and ends nothing, because the other runs of the process are not affected. A rejected promise of unknown
 * origin is reported, too, because no code awaits it. Any other error is thrown again and ends the process, whose own state may be
 * damaged.
 */
export function catchUncaughtErrors(report: (error: Reported, what: string) => void): Disposable {
  const onRejection = (error: unknown): void => {
    report({ err: toLogged(error), ...codeOrigin() }, 'a promise that no code awaits was rejected');
  };
  const onException = (error: unknown): void => {
    const origin = codeOrigin();
    if (!origin) throw error;
    report({ err: toLogged(error), ...origin }, 'code of the agent threw an error that nothing catches');
  };
  process.on('unhandledRejection', onRejection);
  process.on('uncaughtException', onException);
  return {
    [Symbol.dispose]: () => {
      process.off('unhandledRejection', onRejection);
      process.off('uncaughtException', onException);
    },
  };
}

/** As much of the error as a log line may hold. The thrown value may be anything: this must not throw itself. */
function toLogged(error: unknown): Reported['err'] {
  const message = messageOf(error);
  try {
    return error instanceof Error ? { message, stack: String(error.stack).slice(0, stackCharacters) } : { message };
  } catch {
    return { message };
  }
}

const stackCharacters = 4000;
