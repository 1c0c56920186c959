import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import type { NatsError } from 'nats';

/** What NATS refused: its server reports that some time after the message or the subscription was sent. */
type Refusal = NonNullable<NatsError['permissionContext']>;

/** What a process may do that NATS may refuse it. */
export type RefusableOperation = 'publish' | 'subscription';

/** Kinds of refusals whose last line in the log is remembered. */
const remembered = 100;
/** After so long the same kind of refusal is logged again. */
const silentMs = 10 * 60_000;
/** Refusals whose subjects begin with the same words are of one kind: after these are ids. */
const stemWords = 3;

const isOperation = (text: string): text is RefusableOperation => text === 'publish' || text === 'subscription';

/** Counts each refusal, and logs one of a kind in ten minutes: a worker whose user lacks a right sends the same message again and again. */
export function createRefusals(
  log: Log,
  onRefused: (operation: RefusableOperation) => void = () => undefined,
): (refusal: Refusal) => void {
  const isFirst = createFirstOfKind({ silentMs, max: remembered });
  return ({ operation, subject }) => {
    if (isOperation(operation)) onRefused(operation);
    const stem = subject.split('.').slice(0, stemWords).join('.');
    if (!isFirst(`${operation} ${stem}`)) return;
    log.error({ operation, subject }, 'NATS refused this: the user of this process lacks the permission');
  };
}
