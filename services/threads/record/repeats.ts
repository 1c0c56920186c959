import type { KnownRequest } from '@agent-workflow/protos/repeats';
import { fromJson, toJson } from './json.ts';
import type { Decision, Snapshot } from '../ports/changes.ts';

export type Decide<T> = (snapshot: Snapshot) => Decision<T>;

/** The result of a decision: made now, or kept from an earlier call of the same request. */
export type Outcome<T, K> = { readonly made: T } | { readonly kept: K };

/**
 * The same decision, applied at most once for a request: its change is written together with what `toKept` makes of its reply, and a
 * request that is applied already changes nothing. The reply of a decision without a change is kept as well, so that a repetition gets
 * the same, unless `toKept` returns nothing. What is kept is small JSON without binary values.
 */
export const decideRepeatable =
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
