import { fromJson, toJson } from './json.ts';
import type { AppliedRequest, Decision, Snapshot } from './port.ts';

/** A request that its caller may send again. */
export interface Repeatable {
  /** Of a request whose outcome its caller may never hear: it sends it again under the same id. */
  readonly attemptId?: string;
  /** Of a request that is to be done once, whoever sends it again within a day. */
  readonly onceKey?: string;
}

/** A little longer than a key is known. */
const keyKeptMs = 25 * 60 * 60 * 1000;
/** Longer than a caller goes on trying, and than a frozen replica holds a request that its caller has given up. */
const attemptKeptMs = 15 * 60 * 1000;

export type KnownRequest = Pick<AppliedRequest, 'id' | 'keptMs'>;

/** How a request is known to the record; `undefined` when it is sent once. The method tells two apart that are made for one key. */
export const requestOf = (method: string, { attemptId, onceKey }: Repeatable): KnownRequest | undefined => {
  const id = onceKey ?? attemptId;
  if (id === undefined) return undefined;
  return { id: `${method} ${id}`, keptMs: onceKey === undefined ? attemptKeptMs : keyKeptMs };
};

export type Decide<T> = (snapshot: Snapshot) => Decision<T>;

/** What a decision came to: made now, or by an earlier call of the same request, as far as that is kept. */
export type Outcome<T, K> = { readonly made: T } | { readonly kept: K };

/**
 * The same decision, made once: what it changes is written together with what `toKept` leaves of its reply, and a request that is
 * applied already changes nothing. A decision that changes nothing is kept as well, so that it stays the same, unless there is nothing to
 * keep of it. What is kept is JSON, small, and has no bytes in it.
 */
export const decideOnce =
  <T, K>(
    {
      request,
      now,
      toKept,
    }: { readonly request: KnownRequest; readonly now: number; readonly toKept: (reply: T) => K | undefined },
    decide: Decide<T>,
  ): Decide<Outcome<T, K>> =>
  (snapshot) => {
    const { applied, head } = snapshot;
    if (applied && applied.length > 0 && head && !head.deleting) return { reply: { kept: fromJson(applied) as K } };
    const { change, reply } = decide(snapshot);
    const changed = change ?? (head && { head });
    const made = { reply: { made: reply } };
    const kept = toKept(reply);
    if (!changed || kept === undefined) return { ...made, ...(change && { change }) };
    return { ...made, change: { ...changed, applies: { ...request, reply: toJson(kept), at: now } } };
  };
