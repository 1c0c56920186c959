import { isAway, whileAway } from '../record/away.ts';

/** How long a node waits for an unavailable service, in milliseconds: as long as its step waits for the record. */
const waitMs = 15 * 60_000;

/** How a node waits for a service that is unavailable. */
export interface NodeWait {
  /** Ends the calls under way, and the wait for an unavailable service. */
  readonly signal: AbortSignal;
  /** Called when the service is unavailable and a node waits for it. */
  readonly onAway?: (error: unknown) => void;
  /** How long a node waits at most, in milliseconds. */
  readonly forMs?: number;
}

/** Errors that nodes got because a service was unavailable. */
const thrown = new WeakSet<object>();

/** Whether a node got this error because a service was unavailable for too long, which is not its fault. */
export const isServiceAway = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && thrown.has(error);

/** Remembers an error as one of {@link isServiceAway} when a service was unavailable. @returns the error. */
export function noteAway(error: unknown): unknown {
  if (isAway(error)) thrown.add(error as object);
  return error;
}

/** A call of a node, repeated while its service is unavailable. */
export async function callForNode<T>(
  work: () => Promise<T>,
  { signal, onAway = () => undefined, forMs = waitMs }: NodeWait,
): Promise<T> {
  try {
    return await whileAway(work, { signal, onAway, forMs });
  } catch (error) {
    throw noteAway(error);
  }
}
