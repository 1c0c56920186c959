import { unlessAborted } from '@agent-workflow/graph/run/attempt';
import { isAway, whileAway } from '../record/away.ts';

/** How long a node waits for an unavailable service, in milliseconds: as long as its step waits for the record. */
const waitMs = 15 * 60_000;

/** How a node waits for a service that is unavailable. */
export interface NodeWait {
  /** Ends the calls under way, and the wait for an unavailable service. */
  readonly signal: AbortSignal;
  /** Resolves when calls may be made; absent: they may at once. */
  readonly opened?: (() => Promise<void>) | undefined;
  /** Called when the service is unavailable and a node waits for it. */
  readonly onAway?: (error: unknown) => void;
  /** How long a node waits at most, in milliseconds. */
  readonly forMs?: number;
  /** Whether the call can be made again; absent: it always can. */
  readonly mayRepeat?: () => boolean;
}

/** Errors that nodes got because a service was unavailable. */
const thrown = new WeakSet<object>();

/** Whether a node got this error because a service was unavailable for too long, which is not its fault. */
export const isServiceAway = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && thrown.has(error);

/** Remembers an error as one of {@link isServiceAway} when a service was unavailable. @returns the error. */
function noteAway(error: unknown): unknown {
  if (isAway(error)) thrown.add(error as object);
  return error;
}

/** A call of a node, repeated while its service is unavailable. */
export async function callForNode<T>(
  work: () => Promise<T>,
  { signal, opened, onAway = () => undefined, forMs = waitMs, mayRepeat }: NodeWait,
): Promise<T> {
  try {
    if (opened) await unlessAborted(signal, opened);
    return await whileAway(work, { signal, onAway, forMs, mayRepeat });
  } catch (error) {
    throw noteAway(error);
  }
}
