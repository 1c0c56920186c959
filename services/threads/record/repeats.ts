import type { KnownRequest } from '@agent-workflow/protos/repeats';
import { fromJson, toJson } from './json.ts';
import type { Decision, Snapshot } from '../ports/port.ts';

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
