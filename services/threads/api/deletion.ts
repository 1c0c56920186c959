import { eachOf } from '@agent-workflow/kit/each';
import { isServiceError, notFound } from '@agent-workflow/kit/errors';
import { requestOf } from '@agent-workflow/protos/repeats';
import type { BeginDeleteReply, DeletionCalls, StoppedRun } from '@agent-workflow/protos/threads';
import type { References } from '../files/references.ts';
import type { IdempotencyRecords } from '../ports/idempotency.ts';
import type { ThreadReads } from '../ports/reads.ts';
import { committedIterations } from '../runs/revision.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import type { ThreadSweeps } from '../ports/sweeps.ts';
import { fromJson, toJson } from '../record/json.ts';
import type { StateReader } from '../state/read.ts';
import type { Changing } from './changing.ts';
import { keyOf } from './found.ts';
import { beginOrFind } from './idempotency.ts';

interface DeletionCallsOptions {
  readonly store: ThreadReads & ThreadSweeps & IdempotencyRecords;
  readonly states: StateReader;
  readonly changing: Changing;
  readonly references: References;
  readonly now: () => number;
}

/** Runs read at once. */
const runsAtOnce = 8;

export function createDeletionCalls({ store, states, changing, references, now }: DeletionCallsOptions): DeletionCalls {
  const markDeleting = async (key: ThreadKey): Promise<BeginDeleteReply> => {
    const { ids: stoppedRunIds, held } = await changing.change(key, {}, ({ head }) => {
      if (!head) throw notFound(`thread "${key.threadId}" does not exist`);
      const marked: Head = { ...head, deleting: true, epoch: head.epoch + 1 };
      const ids = [...(head.activeRun ? [head.activeRun] : []), ...head.queue];
      return { change: { head: marked }, reply: { ids, held: head } };
    });
    return {
      stoppedRunIds,
      stoppedRuns: await stoppedRunsOf(store, { owner: key.owner, runIds: stoppedRunIds, held }),
      ...(held.agent === undefined ? {} : { agent: held.agent }),
    };
  };

  /**
   * Marks the thread once for all calls of one request. A deleted thread keeps no applied requests, so the reply is kept as an
   * idempotency record under the request's id.
   */
  const markDeletingOnRequest = async (key: ThreadKey, requestId: string): Promise<BeginDeleteReply> => {
    const record = { bodyHash: key.threadId, at: now() };
    const earlier = toDeletion(await beginOrFind(store, { owner: key.owner, key: requestId, record }));
    if (earlier) return earlier;
    try {
      const reply = await markDeleting(key);
      await store.endRequest(key.owner, requestId, toJson(reply));
      return reply;
    } catch (error) {
      if (!isServiceError(error, 'NotFound')) throw error;
      // Another call of the same request may have removed the thread meanwhile.
      const other = toDeletion(await store.beginRequest(key.owner, requestId, record));
      if (other) return other;
      throw error;
    }
  };

  return {
    beginDelete: (request) => {
      const known = requestOf('beginDelete', request);
      return known ? markDeletingOnRequest(keyOf(request), known.id) : markDeleting(keyOf(request));
    },

    finishDelete: async (key) => {
      if ((await store.getHead(key))?.deleting === true) await references.release(key);
      await store.purge(key);
      states.forget(key);
      return {};
    },
  };
}

const toDeletion = (record: { readonly reply?: Uint8Array } | undefined): BeginDeleteReply | undefined =>
  record?.reply && (fromJson(record.reply) as BeginDeleteReply);

/** The records of the stopped runs: once the thread is marked, no other call reads them. */
async function stoppedRunsOf(
  store: ThreadReads,
  { owner, runIds, held }: { readonly owner: string; readonly runIds: readonly string[]; readonly held: Head },
): Promise<readonly StoppedRun[]> {
  const found = new Map<string, StoppedRun>();
  await eachOf(runIds, runsAtOnce, async (runId) => {
    const run = await store.getRun(owner, runId);
    if (!run) return;
    const { requestId, isNewThread } = run;
    found.set(runId, { runId, requestId, isNewThread, iterations: committedIterations(held, run) });
  });
  return runIds.flatMap((runId) => found.get(runId) ?? []);
}
