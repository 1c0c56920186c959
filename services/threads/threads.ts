import { eachOf } from '@agent-workflow/kit/each';
import { invalid, isServiceError, notFound } from '@agent-workflow/kit/errors';
import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { requestOf, type Repeatable } from '@agent-workflow/protos/repeats';
import type {
  BeginDeleteReply,
  ClaimedRun,
  MessageEntry,
  NoteToolStartedReply,
  State,
  StoppedRun,
  Threads,
} from '@agent-workflow/protos/threads';
import { refuseMetadata } from './record/bounds.ts';
import { getCheckpoint, listCheckpoints } from './history/checkpoints.ts';
import { threadsSettings } from './config.ts';
import { decideFix, findBroken } from './messages/fix.ts';
import { createForks, withoutFork } from './history/fork.ts';
import { listMessages, listRunMessages, listRuns, listThreads, toRun, toThread } from './lists/lists.ts';
import { fromJson, toJson } from './record/json.ts';
import { gatherUndos } from './history/overlay.ts';
import type { Head, Reads, RunRecord, ThreadKey, ThreadStore, ToolCallKey } from './ports/port.ts';
import { decideOnce, type Decide, type Outcome } from './record/repeats.ts';
import { createSizedChange } from './record/measure.ts';
import { pruned } from './history/retention.ts';
import { keyBytes, runBytes } from './record/row-sizes.ts';
import { newestOutput } from './runs/output.ts';
import { listRunSteps } from './runs/steps.ts';
import { decideAccept, takesPlace } from './runs/accept.ts';
import { decideClaim, inputIds } from './runs/claim.ts';
import { decideCommit } from './runs/commit.ts';
import { decideEnd } from './runs/end.ts';
import { fromKeptAcceptance, fromKeptClaim, toKeptAcceptance, toKeptClaim } from './runs/kept-claim.ts';
import { decideRelease } from './runs/release.ts';
import { decideToolResult, decideToolStarted } from './runs/tool-calls.ts';
import {
  claimedState,
  createStateReader,
  decideAddMessages,
  decideClearState,
  decideDeleteMessage,
  decideWriteState,
  isOvertaken,
} from './state/state.ts';

/** How often a thread is fixed anew that changes meanwhile. */
const fixAttempts = 5;

/** The threads service on a store. Every decision is a pure function of one snapshot; the store makes it atomic. */
export function createThreads({
  store,
  now = Date.now,
  keep = threadsSettings.CHECKPOINT_KEEP.fallback,
}: {
  readonly store: ThreadStore;
  readonly now?: () => number;
  /** Versions of a thread that are kept to go back to. */
  readonly keep?: number;
}): Threads {
  const states = createStateReader(store);
  const forks = createForks(store, now);

  const change = createSizedChange(store, (key, reads, decide) =>
    store.change(key, reads, (snapshot) => pruned(decide(snapshot), keep)),
  );

  /** A change that a request makes once, however often it is sent. */
  const changeOnce = async <T, K>(
    { key, reads = {}, method, request, toKept }: OneChange<T, K>,
    decide: Decide<T>,
  ): Promise<Outcome<T, K>> => {
    const known = requestOf(method, request);
    if (!known) return { made: await change(key, reads, decide) };
    const once = { request: known, now: now(), toKept };
    return change(key, { ...reads, request: known.id }, decideOnce(once, decide));
  };

  /** The same for a reply that is kept as it is. */
  const settle = async <T>(what: Omit<OneChange<T, T>, 'toKept'>, decide: Decide<T>): Promise<T> => {
    const outcome = await changeOnce({ ...what, toKept: (reply: T) => reply ?? (null as T) }, decide);
    return 'made' in outcome ? outcome.made : outcome.kept;
  };

  /** The state as a write left it; the present one where that version is no longer kept. */
  const stateAt = async (key: ThreadKey, version: number): Promise<State> => {
    const head = await liveHead(key);
    if (head.version === version) return states.read(key, head);
    try {
      return (await getCheckpoint(store, { ...key, checkpointId: String(version) })).state;
    } catch (error) {
      if (isServiceError(error, 'NotFound')) return states.read(key, await liveHead(key));
      throw error;
    }
  };

  const markDeleting = async (key: ThreadKey): Promise<BeginDeleteReply> => {
    const stoppedRunIds = await change(key, {}, ({ head }) => {
      if (!head) throw notFound(`thread "${key.threadId}" does not exist`);
      const marked: Head = { ...head, deleting: true, epoch: head.epoch + 1 };
      return { change: { head: marked }, reply: [...(head.activeRun ? [head.activeRun] : []), ...head.queue] };
    });
    return { stoppedRunIds, stoppedRuns: await stoppedRunsOf(key.owner, stoppedRunIds) };
  };

  /** Their records, which are readable to nobody else once the thread is marked. */
  const stoppedRunsOf = async (owner: string, runIds: readonly string[]): Promise<readonly StoppedRun[]> => {
    const found = new Map<string, StoppedRun>();
    await eachOf(runIds, runsReadAtOnce, async (runId) => {
      const run = await store.getRun(owner, runId);
      if (run) found.set(runId, { runId, requestId: run.requestId, isNewThread: run.isNewThread });
    });
    return runIds.flatMap((runId) => found.get(runId) ?? []);
  };

  /** Nothing of the thread is left to tell that it was deleted: that stands beside it, under the id of the request. */
  const markDeletingOnce = async (key: ThreadKey, requestId: string): Promise<BeginDeleteReply> => {
    const note = { bodyHash: key.threadId, at: now() };
    const toldBefore = async (): Promise<BeginDeleteReply | undefined> => {
      const known = await store.beginOnce(key.owner, requestId, note);
      // A reply that an earlier version kept has only the ids.
      return known?.reply && { stoppedRuns: [], ...(fromJson(known.reply) as KeptDeletion) };
    };
    const [, known] = await Promise.all([store.expireOnce(note.at - onceKeptMs, expiredAtOnce), toldBefore()]);
    if (known) return known;
    try {
      const reply = await markDeleting(key);
      await store.endOnce(key.owner, requestId, toJson(reply));
      return reply;
    } catch (error) {
      // Another call of the same request may have come to its end meanwhile.
      const told = isServiceError(error, 'NotFound') ? await toldBefore() : undefined;
      if (told) return told;
      throw error;
    }
  };

  const liveHead = async (key: ThreadKey): Promise<Head> => {
    const head = await store.getHead(key);
    if (!head || head.deleting) throw notFound(`thread "${key.threadId}" does not exist`);
    return head;
  };

  const runOf = async (owner: string, runId: string): Promise<RunRecord> => {
    const run = await store.getRun(owner, runId);
    if (!run) throw notFound(`run "${runId}" does not exist`);
    return run;
  };

  const messageOf = async (key: ThreadKey, messageId: string): Promise<Uint8Array> => {
    const json = await store.getMessage(key, messageId);
    if (!json) throw notFound(`message "${messageId}" does not exist in thread "${key.threadId}"`);
    return json;
  };

  return {
    acceptRun: async (request) => {
      const key = keyOf(request);
      let undone = gatherUndos();
      const reads = {
        runs: [request.runId],
        newRun: { runId: request.runId, isNew: request.runIdIsNew === true },
        isNewThread: request.threadIdIsNew === true,
        activeRun: takesPlace(request),
        messages: idsOf(request.messages),
        ...(request.multitaskStrategy === 'rollback' ? { undosOfActiveRun: () => (undone = gatherUndos()) } : {}),
      };
      const outcome = await changeOnce(
        { key, reads, method: 'acceptRun', request, toKept: toKeptAcceptance },
        (snapshot) => decideAccept(request, { ...snapshot, undone }, now()),
      );
      const reply = 'made' in outcome ? outcome.made : await fromKeptAcceptance(store, key, outcome.kept);
      const { claimed } = reply;
      if (!claimed || isKnown(claimed, request.claim?.knownVersion)) return reply;
      return { ...reply, claimed: withState(claimed, await claimedState(store, key, claimed)) };
    },

    claimRun: async (request, { signal }) => {
      const key = keyOf(request);
      const waiting = inputIds(await runOf(request.owner, request.runId));
      const reads = { runs: [request.runId], messages: waiting };
      const outcome = await changeOnce({ key, reads, method: 'claimRun', request, toKept: toKeptClaim }, (snapshot) =>
        decideClaim(request, snapshot, now()),
      );
      const claimed = 'made' in outcome ? outcome.made : await fromKeptClaim(store, key, outcome.kept);
      if (claimed.givenUp || claimed.lastClaim) return claimed;
      const run = claimed.isTakeover ? await store.getRun(request.owner, claimed.runId) : undefined;
      const output = run ? await newestOutput(store, key, run, signal) : {};
      if (isKnown(claimed, request.knownVersion)) return { ...claimed, ...output };
      return { ...withState(claimed, await claimedState(store, key, claimed)), ...output };
    },

    releaseRun: (request) =>
      settle({ key: keyOf(request), reads: { runs: [request.runId] }, method: 'releaseRun', request }, (snapshot) =>
        decideRelease(request, snapshot, now()),
      ),

    commitStep: (request) => {
      const replaced = request.replacesMessages ? idsOf(request.messages) : [];
      const reads = {
        runs: request.end ? [request.runId] : [],
        messages: [...replaced, ...request.removedFromContext],
        fields: Object.keys(request.fields),
      };
      return settle({ key: keyOf(request), reads, method: 'commitStep', request }, (snapshot) =>
        decideCommit(request, snapshot),
      );
    },

    endRun: async (request) => {
      const { threadId } = await runOf(request.owner, request.runId);
      const key = { owner: request.owner, threadId };
      return settle({ key, reads: { runs: [request.runId] }, method: 'endRun', request }, (snapshot) =>
        decideEnd(request, snapshot, now()),
      );
    },

    getRun: async ({ owner, runId }) => {
      const run = await runOf(owner, runId);
      const head = await liveHead({ owner, threadId: run.threadId });
      return toRun(owner, run, head);
    },

    listRuns: async (request, call) => listRuns(store, request, await liveHead(keyOf(request)), call),

    listRunMessages: async (request, call) => {
      const run = await runOf(request.owner, request.runId);
      await liveHead({ owner: request.owner, threadId: run.threadId });
      return listRunMessages(store, request, run, call);
    },

    listRunSteps: async (request) => {
      const run = await runOf(request.owner, request.runId);
      const key = { owner: request.owner, threadId: run.threadId };
      return { steps: await listRunSteps(store, key, request, await liveHead(key)) };
    },

    noteToolStarted: async (request) => {
      const reads = { toolCall: toolCallOf(request) };
      // One that was begun before is so for every call that asks: only the first is told otherwise.
      const toKept = ({ isNew }: NoteToolStartedReply): { isNew: boolean } | undefined =>
        isNew ? { isNew } : undefined;
      const outcome = await changeOnce(
        { key: keyOf(request), reads, method: 'noteToolStarted', request, toKept },
        (snapshot) => decideToolStarted(request, snapshot),
      );
      return 'made' in outcome ? outcome.made : outcome.kept;
    },

    noteToolResult: (request) => change(keyOf(request), {}, (snapshot) => decideToolResult(request, snapshot)),

    listOpenRuns: async ({ limit, cursor }) => {
      const rows = await store.listOpenRuns({ limit: limit + 1, after: cursor, bytes: pageBytes });
      const { items, hasMore } = toPage(rows, { limit, sizeOf: runBytes });
      const heads = await Promise.all(items.map(async (run) => store.getHead(run)));
      const runs = items.flatMap((run, index) => {
        const head = heads[index];
        return !head || head.deleting ? [] : [toRun(run.owner, run, head)];
      });
      const last = items.at(-1);
      return { runs, ...(hasMore && last ? { cursor: last.runId } : {}) };
    },

    getThread: async (key) => {
      const head = await liveHead(key);
      const { activeRun } = head;
      return {
        ...toThread({ threadId: key.threadId, ...head }),
        ...(activeRun !== undefined && { activeRunId: activeRun }),
      };
    },

    listThreads: (request, call) => listThreads(store, request, call),

    beginDelete: (request) => {
      const known = requestOf('beginDelete', request);
      return known ? markDeletingOnce(keyOf(request), known.id) : markDeleting(keyOf(request));
    },

    finishDelete: async (key) => {
      await store.purge(key);
      states.forget(key);
      return {};
    },

    listIdle: async ({ before, limit }) => ({ threads: keysOfPage(await store.listIdle(before, limit)) }),

    listDeleting: async ({ limit }) => ({
      threads: await withoutFork(store, keysOfPage(await store.listDeleting(limit)), now()),
    }),

    getState: async (key) => states.read(key, await liveHead(key)),

    writeState: async (request) => {
      const key = keyOf(request);
      const reads = {
        messages: idsOf(request.messages),
        fields: Object.keys(request.fields),
      };
      const toKept = ({ head }: { readonly head: Head }): number => head.version;
      const outcome = await changeOnce({ key, reads, method: 'writeState', request, toKept }, (snapshot) =>
        decideWriteState(request, snapshot, now()),
      );
      return 'made' in outcome ? states.read(key, outcome.made.head) : stateAt(key, outcome.kept);
    },

    clearState: async (request) => {
      const reads = { fields: 'all', context: true } as const;
      await settle({ key: keyOf(request), reads, method: 'clearState', request }, (snapshot) =>
        decideClearState(request.threadId, snapshot, now()),
      );
      return {};
    },

    listMessages: async (request, call) => {
      await liveHead(keyOf(request));
      return listMessages(store, request, call);
    },

    getMessage: async ({ messageId, ...key }) => {
      await liveHead(key);
      return { json: await messageOf(key, messageId) };
    },

    addMessages: (request) => {
      const reads = { messages: idsOf(request.messages) };
      return settle({ key: keyOf(request), reads, method: 'addMessages', request }, (snapshot) =>
        decideAddMessages(request, snapshot, now()),
      );
    },

    deleteMessage: async (request) => {
      const reads = { messages: [request.messageId] };
      await settle({ key: keyOf(request), reads, method: 'deleteMessage', request }, (snapshot) =>
        decideDeleteMessage(request, snapshot, now()),
      );
      return {};
    },

    listCheckpoints: async (request, call) => {
      await liveHead(keyOf(request));
      return listCheckpoints(store, request, call);
    },

    getCheckpoint: async (request) => {
      await liveHead(keyOf(request));
      return getCheckpoint(store, request);
    },

    forkThread: async (request) => {
      refuseMetadata(request.metadataJson, ['config', 'metadata']);
      await liveHead(keyOf(request));
      return toThread({ threadId: request.newThreadId, ...(await forks.make(request)) });
    },

    fixThread: async (request, { signal }) => {
      const key = keyOf(request);
      const fix = async (): Promise<number> => {
        signal.throwIfAborted();
        const broken = await findBroken(store, key, await liveHead(key));
        const messages = [...broken.callers, ...broken.answers];
        return settle({ key, reads: { messages }, method: 'fixThread', request }, (snapshot) =>
          decideFix(key.threadId, broken, snapshot, now()),
        );
      };
      for (let attempt = 1; ; attempt += 1) {
        try {
          return { removedCount: await fix() };
        } catch (error) {
          if (attempt === fixAttempts || !isOvertaken(error)) throw error;
        }
      }
    },

    beginOnce: async ({ owner, onceKey, bodyHash, attemptId: attempt, replyJson: reply }) => {
      const at = now();
      // Asked for together, in this order: a store that groups its writes makes them one.
      const [, known] = await Promise.all([
        store.expireOnce(at - onceKeptMs, expiredAtOnce),
        store.beginOnce(owner, onceKey, {
          bodyHash,
          at,
          ...(attempt === undefined ? {} : { attempt }),
          ...(reply ? { reply } : {}),
        }),
      ]);
      if (known && known.bodyHash !== bodyHash) {
        throw invalid(['idempotencyKey'], 'was used with another body', 'idempotency_key');
      }
      if (!known) return { isNew: true, at };
      return { isNew: false, at: known.at, ...(known.reply === undefined ? {} : { replyJson: known.reply }) };
    },

    endOnce: async ({ owner, onceKey, replyJson }) => {
      await store.endOnce(owner, onceKey, replyJson);
      return {};
    },
  };
}

/** A change that a request makes, as `method` does it. */
interface OneChange<T, K> {
  readonly key: ThreadKey;
  readonly reads?: Reads;
  readonly method: string;
  readonly request: Repeatable;
  readonly toKept: (reply: T) => K | undefined;
}

/** How long a request is known by its key, in milliseconds. */
const onceKeptMs = 24 * 60 * 60 * 1000;
/** Each new key makes room for itself: more than one is forgotten for every one that comes. */
const runsReadAtOnce = 8;

type KeptDeletion = Pick<BeginDeleteReply, 'stoppedRunIds'> & Partial<BeginDeleteReply>;
const expiredAtOnce = 10;

/** Whether the worker can make the state after the claim itself: what is replaced may come back to its place in the context. */
const isKnown = ({ previousVersion, replaced }: ClaimedRun, knownVersion: number | undefined): boolean =>
  previousVersion === knownVersion && !replaced;

const keysOfPage = (keys: readonly ThreadKey[]): readonly ThreadKey[] =>
  toPage(keys, { limit: Infinity, sizeOf: keyBytes }).items;

/** The claim with the state, which holds what was appended: that is named by its ids alone. */
const withState = (claimed: ClaimedRun, state: State): ClaimedRun => ({
  ...claimed,
  appended: claimed.appended.map(({ messageId }) => ({ messageId, json: new Uint8Array() })),
  state,
});

const idsOf = (messages: readonly MessageEntry[]): string[] => messages.map(({ messageId }) => messageId);

const toolCallOf = ({ runId, callKey }: ToolCallKey): ToolCallKey => ({ runId, callKey });

const keyOf = ({ owner, threadId }: ThreadKey): ThreadKey => ({ owner, threadId });
