import type { Log } from '@agent-workflow/kit/log';
import { messageOf } from '@agent-workflow/graph/state/failure';
import { codeOrigin } from './code.ts';

/**
 * Hears of what is thrown where nobody can catch it: in timers, listeners and promises that code left behind. What an agent's
 * code threw is logged with its run and node and ends nothing: the other runs of the process have no part in it. So is a
 * rejected promise of unknown origin, because nobody waited for it. Any other error is thrown on and ends the process, whose
 * own state nobody vouches for then.
 */
export function catchStrays(logger: Log): Disposable {
  const onRejection = (error: unknown): void => {
    logger.error({ err: toLogged(error), ...codeOrigin() }, 'a promise that nobody waited for was rejected');
  };
  const onException = (error: unknown): void => {
    const origin = codeOrigin();
    if (!origin) throw error;
    logger.error({ err: toLogged(error), ...origin }, 'code of the agent threw where nobody can catch it');
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

/** As much of what was thrown as a line of the log may hold. It may be anything: nothing here may throw in its turn. */
function toLogged(error: unknown): Record<string, string> {
  const message = messageOf(error);
  try {
    return error instanceof Error ? { message, stack: String(error.stack).slice(0, stackCharacters) } : { message };
  } catch {
    return { message };
  }
}

const stackCharacters = 4000;
