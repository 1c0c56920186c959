import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { reasonOf } from './reason.ts';

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
