import type { Log } from '@agent-workflow/kit/log';
import { messageOf } from '@agent-workflow/graph/state/failure';
import { codeOrigin } from './code.ts';

/**
 * Handles uncaught errors: those of timers, listeners and promises that code left behind. An error of an agent's code is logged
 * with its run and node and ends nothing, because the other runs of the process are not affected. A rejected promise of unknown
 * origin is logged, too, because no code awaits it. Any other error is thrown again and ends the process, whose own state may be
 * damaged.
 */
export function catchUncaughtErrors(log: Log): Disposable {
  const onRejection = (error: unknown): void => {
    log.error({ err: toLogged(error), ...codeOrigin() }, 'a promise that no code awaits was rejected');
  };
  const onException = (error: unknown): void => {
    const origin = codeOrigin();
    if (!origin) throw error;
    log.error({ err: toLogged(error), ...origin }, 'code of the agent threw an error that nothing catches');
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
function toLogged(error: unknown): Record<string, string> {
  const message = messageOf(error);
  try {
    return error instanceof Error ? { message, stack: String(error.stack).slice(0, stackCharacters) } : { message };
  } catch {
    return { message };
  }
}

const stackCharacters = 4000;
