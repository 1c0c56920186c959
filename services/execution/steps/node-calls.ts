import { unlessAborted } from '@agent-workflow/graph/run/attempt';
import { isAway, isRefused, whileAway } from '../record/away.ts';

/** How long a node waits for an unavailable service, in milliseconds: as long as its step waits for the record. */
const waitMs = 15 * 60_000;

/** How a node waits for a service that is unavailable, or refuses the worker: the operator may put that right meanwhile. */
export interface NodeWait {
  /** Ends the calls under way, and the wait for an unavailable service. */
  readonly signal: AbortSignal;
  /** Resolves when calls may be made; absent: they may at once. */
  readonly opened?: (() => Promise<void>) | undefined;
  /** Called with the first failure that a node waits for. */
  readonly onAway?: (error: unknown) => void;
  /** How long a node waits at most, in milliseconds. */
  readonly forMs?: number;
  /** Whether the call can be made again; absent: it always can. */
  readonly mayRepeat?: () => boolean;
}

/** Whether a node waits for what made a call fail, because it is not the node's fault. */
const isFaultOfService = (error: unknown): boolean => isAway(error) || isRefused(error);

/** Errors that nodes got because a service was unavailable, or refused the worker. */
const thrown = new WeakSet<object>();

/** Whether a node got this error because a service was unavailable, or refused the worker, for too long. */
export const isServiceAway = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && thrown.has(error);

/** Remembers an error as one of {@link isServiceAway} when it is one. @returns the error. */
function noteAway(error: unknown): unknown {
  if (isFaultOfService(error)) thrown.add(error as object);
  return error;
}

/** A call of a node, repeated while its service is unavailable or refuses the worker. */
export async function callForNode<T>(
  work: () => Promise<T>,
  { signal, opened, onAway = () => undefined, forMs = waitMs, mayRepeat }: NodeWait,
): Promise<T> {
  try {
    if (opened) await unlessAborted(signal, opened);
    return await whileAway(work, { signal, onAway, forMs, mayRepeat, mayPass: isFaultOfService });
  } catch (error) {
    throw noteAway(error);
  }
}
