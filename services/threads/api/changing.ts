import { unavailable } from '@agent-workflow/kit/errors';
import { requestOf, type Repeatable } from '@agent-workflow/protos/repeats';
import { pruned } from '../history/retention.ts';
import type { Reads, ThreadChanges } from '../ports/changes.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ThreadKey } from '../ports/record.ts';
import { decideRepeatable, type Decide, type Outcome } from '../record/repeats.ts';
import { UnmeasuredSize } from '../record/size.ts';

/**
 * How the calls of the service change threads. Around the decision of a call are, from the outside in:
 * - `replyOnRequest` gives one reply, whether it was made now or kept from the same request before;
 * - `changeOnRequest` looks for the request among those that were applied (`decideRepeatable`), because a caller may repeat it;
 * - `createSizedChange` measures a thread whose size is not known, and decides again;
 * - `store.change` reads a snapshot, decides, writes if the thread is as it was read, and otherwise starts again;
 * - `pruned` adds to the decided change which old versions to drop.
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
  readonly store: ThreadChanges & ThreadReads;
  readonly now: () => number;
  /** Versions of a thread that are kept. */
  readonly keep: number;
}

/** Some decisions need the thread's size. A head that does not hold it is measured first. */
export function createChanging({ store, now, keep }: ChangingOptions): Changing {
  const change: Changing['change'] = async (key, reads, decide) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await store.change(key, reads, (snapshot) => pruned(decide(snapshot), keep));
      } catch (error) {
        if (!(error instanceof UnmeasuredSize)) throw error;
        if (attempt === measurements)
          throw unavailable(`thread "${key.threadId}" changes too often to be measured`, error);
        await keepSize(store, key);
      }
    }
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

/** Measurements of a thread that changes meanwhile: only a service of an earlier version changes it without its size. */
const measurements = 5;

/** Measures a thread whose head does not hold its size; it holds it from then on. */
async function keepSize(store: ThreadChanges & ThreadReads, key: ThreadKey): Promise<void> {
  const measured = await store.measure(key);
  if (!measured) return;
  const { version, fields, context } = measured;
  await store.change(key, {}, ({ head }) => ({
    ...(head?.version === version && !head.size ? { change: { head: { ...head, size: { fields, context } } } } : {}),
    reply: undefined,
  }));
}
