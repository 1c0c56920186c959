import { requestOf, type Repeatable, type KnownRequest } from '@agent-workflow/protos/repeats';
import { pruned } from '../history/retention.ts';
import type { Reads, ThreadChanges, Decision, Snapshot } from '../ports/changes.ts';
import type { ThreadKey } from '../ports/record.ts';
import type { ResourceWrite } from '../ports/resources.ts';
import { fromJson, toJson } from '../record/json.ts';
import { createKnownDays } from '../record/known-days.ts';
import { opened } from '../record/question-entries.ts';
import { withExpiry } from './expiry.ts';
import { withOutbox, type HasWebhooks } from '../runs/outbox.ts';

/**
 * How the calls of the service change threads. Around the decision of a call are, from the outside in:
 * - `replyOnRequest` gives one reply, whether it was made now or kept from the same request before;
 * - `changeOnRequest` looks for the request among those that were applied (`decideRepeatable`), because a caller may repeat it;
 * - `store.change` reads a snapshot, decides, writes if the thread is as it was read, and otherwise starts again;
 * - `pruned` adds to the decided change which old versions to drop;
 * - `withExpiry` adds to it when the thread expires, `withOutbox` that runs have ended whose ends somebody waits for, and `opened` how questions are
 *   found that others answer.
 */
export interface Changing {
  /** Makes a change whose repetition does no harm. */
  readonly change: ThreadChanges['change'];
  /** Makes the change of a request at most once, however often the request is sent, and keeps what `toKept` makes of its reply. */
  readonly changeOnRequest: <T, K>(what: RequestedChange<T, K>, decide: Decide<T>) => Promise<Outcome<T, K>>;
  /** The same for a reply that is kept as it is. */
  readonly replyOnRequest: <T>(what: Omit<RequestedChange<T, T>, 'toKept'>, decide: Decide<T>) => Promise<T>;
}

/** A change that a request makes by the call `method`. */
interface RequestedChange<T, K> {
  readonly key: ThreadKey;
  readonly reads?: Reads;
  readonly method: string;
  readonly request: Repeatable;
  /** Absent results are not kept: the same request is then decided again. */
  readonly toKept: (reply: T) => K | undefined;
}

interface ChangingOptions {
  readonly store: ThreadChanges;
  readonly now: () => number;
  /** Versions of a thread that are kept. */
  readonly keep: number;
  readonly hasWebhooks: HasWebhooks;
}

export function createChanging({ store, now, keep, hasWebhooks }: ChangingOptions): Changing {
  const days = createKnownDays(now);

  const change: Changing['change'] = (key, reads, decide) => {
    let entries: readonly ResourceWrite[] = [];
    const made = store.change(key, reads, (snapshot) => {
      const decision = withOutbox(withExpiry(pruned(decide(snapshot), keep), key, snapshot.head), {
        ...{ owner: key.owner, snapshot, hasWebhooks },
      });
      const { head, resources = [] } = decision.change ?? {};
      entries = head?.addressed ? opened(key, head, snapshot.head).filter((write) => !days.isKnown(write)) : [];
      if (!decision.change || entries.length === 0) return decision;
      // They are known when they are written: those of the last attempt.
      queueMicrotask(() => void made.then(() => days.add(entries)).catch(() => undefined));
      return { ...decision, change: { ...decision.change, resources: [...resources, ...entries] } };
    });
    return made;
  };

  const changeOnRequest: Changing['changeOnRequest'] = async ({ key, reads = {}, method, request, toKept }, decide) => {
    const known = requestOf(method, request);
    if (!known) return { made: await change(key, reads, decide) };
    const repeatable = decideRepeatable({ request: known, now: now(), toKept }, decide);
    return change(key, { ...reads, request: known.id }, repeatable);
  };

  return {
    change,
    changeOnRequest,
    replyOnRequest: async <T>(what: Omit<RequestedChange<T, T>, 'toKept'>, decide: Decide<T>): Promise<T> => {
      const outcome = await changeOnRequest({ ...what, toKept: (reply: T) => reply ?? (null as T) }, decide);
      return 'made' in outcome ? outcome.made : outcome.kept;
    },
  };
}

type Decide<T> = (snapshot: Snapshot) => Decision<T>;

/** The result of a decision: made now, or kept from an earlier call of the same request. */
type Outcome<T, K> = { readonly made: T } | { readonly kept: K };

/**
 * The same decision, applied at most once for a request: its change is written together with what `toKept` makes of its reply, and a
 * request that is applied already changes nothing. The reply of a decision without a change is kept as well, so that a repetition gets
 * the same, unless `toKept` returns nothing. What is kept is small JSON without binary values.
 */
const decideRepeatable =
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
