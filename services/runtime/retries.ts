import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { reasonOf } from './reason.ts';

/** How long the log is silent about a failure that repeats: a minute, then two, and so on up to ten. So what fails every few seconds for hours fills no log. */
export const growingSilence = { silentMs: 60_000, mostSilentMs: 10 * 60_000 };

interface LoggedFailures extends Pick<LoggedRetries, 'text' | 'now'> {
  readonly log: Pick<Log, 'error'>;
}

/** To be called with each failure of work that is repeated: logs it, and the same message again at growing intervals. */
export function logFailures({ log, text, now }: LoggedFailures): (error: unknown) => void {
  const isFirst = createFirstOfKind({ ...growingSilence, max: remembered, ...(now && { now }) });
  return (error) => {
    if (isFirst(error instanceof Error ? error.message : String(error))) log.error({ err: error }, text);
  };
}

/** After so long the same reason is logged again, in milliseconds. */
const silentMs = 10_000;
/** Reasons whose last line is remembered. */
const remembered = 20;

interface LoggedRetries {
  readonly log: Pick<Log, 'warn'>;
  /** The line, without the reason. */
  readonly text: string;
  /** A clock in milliseconds that never goes back. */
  readonly now?: () => number;
}

/** To be called with each failure that another attempt follows: logs its reason without a stack, and the same one again after ten seconds. */
export function logRetries({ log, text, now }: LoggedRetries): (error: unknown) => void {
  const isFirst = createFirstOfKind({ silentMs, max: remembered, ...(now && { now }) });
  return (error) => {
    const reason = reasonOf(error);
    if (isFirst(reason)) log.warn({ reason }, text);
  };
}
