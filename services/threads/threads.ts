import type {
  Threads,
  GrantCalls,
  HistoryCalls,
  NoteToolStartedReply,
  ToolRecordCalls,
  NoteToolResultReply,
  NoteToolResultRequest,
  NoteToolStartedRequest,
  State,
  StateCalls,
  Run,
  SleepingRun,
  SweepCalls,
  BeginDeleteReply,
  DeletionCalls,
  StoppedRun,
} from '@agent-workflow/protos/threads';
import { createDeclaredFields } from './agents/declared-fields.ts';
import { createRoutings, type Routings, type RoutingsByAgent } from './agents/routings.ts';
import { createAgentCalls } from './api/agents.ts';
import { createChanging, type Changing } from './api/changing.ts';
import { createFileCalls } from './api/files.ts';
import { createIdempotencyCalls, beginOrFind } from './api/idempotency.ts';
import { createMessageCalls } from './api/messages.ts';
import { createQuestionCalls } from './api/questions.ts';
import { createResourceCalls } from './api/resources.ts';
import { createThreadChangeCalls, createThreadReadCalls } from './api/threads.ts';
import { createRunReadCalls, createRunCalls, type ClockAhead, type Unheard } from './api/runs.ts';
import { createWebhookOwners, type WebhookOwners } from './api/webhook-owners.ts';
import { threadsSettings } from './config.ts';
import { createReferences, type References } from './files/references.ts';
import type { ThreadStore } from './ports/store.ts';
import { createStoredTexts, type UnreadableText, type StoredTexts } from './record/stored-texts.ts';
import { createStateReader, ofAgent, type StateReader } from './state/read.ts';
import { stale, undefinedIfNotFound, isServiceError, notFound } from '@agent-workflow/kit/errors';
import type { ThreadReads } from './ports/reads.ts';
import { keyOf, liveHead, idsOf } from './api/found.ts';
import { toThread, toProtoRun } from './lists/lists.ts';
import { getCheckpoint, listCheckpoints } from './history/checkpoints.ts';
import { pruneThread } from './api/prune-thread.ts';
import { restoreThread } from './api/restore-thread.ts';
import { createForks, withoutFork, type ForkStore } from './history/fork.ts';
import { refuseMetadata } from './record/bounds.ts';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import type { Decision, Snapshot } from './ports/changes.ts';
import { fencedHead } from './runs/commit.ts';
import type { ThreadHistory } from './ports/history.ts';
import type { Head, ThreadKey, ToolCallKey } from './ports/record.ts';
import { createQuestionBound, type QuestionBound } from './api/question-bound.ts';
import { decideClearState, decideWriteState } from './state/write.ts';
import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { eachOf } from '@agent-workflow/kit/each';
import { defaultAgent } from '@agent-workflow/kit/agents';
import { isRetired } from './agents/routing.ts';
import type { ResourceRecords } from './ports/resources.ts';
import type { OpenRun, ThreadSweeps } from './ports/sweeps.ts';
import { agentOf } from './record/head.ts';
import { keyBytes, runBytes } from './record/row-sizes.ts';
import { requestOf } from '@agent-workflow/protos/repeats';
import type { IdempotencyRecords } from './ports/idempotency.ts';
import { committedIterations } from './runs/revision.ts';
import { fromJson, toJson } from './record/json.ts';
import { opened } from './record/question-entries.ts';

/** The threads service on a store. Each decision is a pure function of one snapshot; the store makes it atomic. */
export function createThreads({
  store,
  now = store.now,
  keep = threadsSettings.CHECKPOINT_KEEP.fallback,
  onUnreadable = () => undefined,
  onClockAhead = () => undefined,
  onUnheard = () => undefined,
  webhookOwners = createWebhookOwners(store, { now }),
  mostQuestions = threadsSettings.OPEN_QUESTIONS.fallback,
}: {
  readonly store: ThreadStore;
  /** Absent: the clock of the store. */
  readonly now?: () => number;
  /** Versions of a thread that are kept to go back to. */
  readonly keep?: number;
  /** Takes each stored text that is left out of a reply, because it is not the JSON that it should be. */
  readonly onUnreadable?: (text: UnreadableText) => void;
  /** Called with each commit of a worker whose clock is ahead; its times are moved to those of `now`. */
  readonly onClockAhead?: (ahead: ClockAhead) => void;
  /** Called with each question to a role that nobody can have. */
  readonly onUnheard?: (unheard: Unheard) => void;
  /** Absent: no other process writes to the record. */
  readonly webhookOwners?: WebhookOwners;
  /** Questions to others that one owner may have of one agent. */
  readonly mostQuestions?: number;
}): Threads {
  const texts = createStoredTexts(onUnreadable);
  const states = createStateReader(store, texts);
  const changing = createChanging({ store, now, keep, hasWebhooks: webhookOwners.has });
  const references = createReferences({ store, now });
  const elapsed = (): number => performance.now();
  const routings = createRoutings(store, { elapsed, now });
  const declared = createDeclaredFields(store, elapsed);
  const questionBound = createQuestionBound({ store, now, most: mostQuestions });
  return {
    ...createRunCalls({
      ...{
        store,
        states,
        texts,
        changing,
        references,
        routings,
        declared,
        questionBound,
        now,
        onClockAhead,
        onUnheard,
      },
    }),
    ...createRunReadCalls({ store, texts, now }),
    ...createQuestionCalls({ store, now }),
    ...createGrantCalls(store),
    ...createToolRecordCalls(changing),
    ...createStateCalls({ store, states, texts, changing, references, now }),
    ...createMessageCalls({ store, changing, texts, references, now }),
    ...createHistoryCalls({ store, changing, references, questionBound, texts, now }),
    ...createThreadReadCalls({ store, texts }),
    ...createThreadChangeCalls({ store, changing, texts, now }),
    ...createDeletionCalls({ store, states, changing, references, now }),
    ...createSweepCalls(store, routings, now),
    ...createIdempotencyCalls(store, now),
    ...createFileCalls({ store, references, now }),
    ...createAgentCalls({ store, routings, now }),
    ...createResourceCalls({ store, now, webhookOwners }),
  };
}

/** Says whether a claim is still the run's last. The grant itself is made where the call is served, which knows its caller. */
const createGrantCalls = (store: ThreadReads): GrantCalls => ({
  renewGrant: async (request) => {
    const { runId, epoch } = request;
    const head = await store.getHead(keyOf(request));
    const isHeld = head?.activeRun === runId && head.activeStatus === 'running' && head.epoch === epoch;
    if (!isHeld || head.deleting) throw stale(`another worker has run "${runId}", or it has ended`);
    return {};
  },
});

interface HistoryCallsOptions {
  readonly store: ForkStore & Pick<ResourceRecords, 'putResource'>;
  readonly changing: Changing;
  readonly references: References;
  readonly questionBound: QuestionBound;
  readonly texts: StoredTexts;
  readonly now: () => number;
}

function createHistoryCalls(options: HistoryCallsOptions): HistoryCalls {
  const { store, changing, references, questionBound, texts, now } = options;
  const forks = createForks(store, { now, refuseOpening: questionBound.refuseOpening });
  return {
    listCheckpoints: async (request, call) => {
      await liveHead(store, keyOf(request));
      return listCheckpoints({ store, texts }, request, call);
    },

    getCheckpoint: async (request) => {
      const head = await liveHead(store, keyOf(request));
      const { checkpoint, state } = await getCheckpoint({ store, texts }, request);
      return { checkpoint, state: ofAgent(state, head) };
    },

    forkThread: async (request, call) => {
      refuseMetadata(request.metadataJson, ['config', 'metadata']);
      await liveHead(store, keyOf(request));
      const { owner, newThreadId: threadId } = request;
      const made = await references.withCopy(keyOf(request), { owner, threadId }, () => forks.make(request, call));
      for (const write of opened({ owner, threadId }, made, undefined)) await store.putResource(write);
      return toThread({ threadId, ...made });
    },

    restoreThread: async (request) => {
      const head = await restoreThread({ store, changing, references, questionBound, now }, request);
      return toThread({ threadId: request.threadId, ...head });
    },

    pruneThread: (request, call) => pruneThread({ store, changing }, request, call),
  };
}

const createToolRecordCalls = ({ change, changeOnRequest }: Changing): ToolRecordCalls => ({
  noteToolStarted: async (request) => {
    const reads = { toolCall: callOf(request) };
    // Only the first call gets `isNew`. Every later one is decided again, and gets how far the tool call came.
    const toKept = ({ isNew }: NoteToolStartedReply): { isNew: boolean } | undefined => (isNew ? { isNew } : undefined);
    const outcome = await changeOnRequest(
      { key: keyOf(request), reads, method: 'noteToolStarted', request, toKept },
      (snapshot) => decideToolStarted(request, snapshot),
    );
    return 'made' in outcome ? outcome.made : outcome.kept;
  },

  noteToolResult: (request) => change(keyOf(request), {}, (snapshot) => decideToolResult(request, snapshot)),
});

/** Records that a call is about to be made, unless an earlier attempt has begun it. */
function decideToolStarted(request: NoteToolStartedRequest, snapshot: Snapshot): Decision<NoteToolStartedReply> {
  const head = fencedHead(request, snapshot);
  const { toolCall: known } = snapshot;
  if (known) return { reply: { isNew: false, ...(known.result === undefined ? {} : { resultJson: known.result }) } };
  return { change: { head, toolCall: callOf(request) }, reply: { isNew: true } };
}

const callOf = ({
  runId,
  recordOf = runId,
  callKey,
}: Pick<NoteToolStartedRequest, 'runId' | 'recordOf' | 'callKey'>): ToolCallKey => ({ runId: recordOf, callKey });

/** Records the result of a call. It outlives the worker like a commit, so the claims without one are counted anew. */
function decideToolResult(request: NoteToolResultRequest, snapshot: Snapshot): Decision<NoteToolResultReply> {
  const head = fencedHead(request, snapshot);
  const { resultJson: result, keepSeconds } = request;
  refuseOver(result.byteLength, sizes.toolRecord, ['resultJson']);
  const toolCall = { ...callOf(request), result, ...(keepSeconds === undefined ? {} : { keepSeconds }) };
  return { change: { head: { ...head, claims: 0 }, toolCall }, reply: {} };
}

interface StateCallsOptions {
  readonly store: ThreadReads & ThreadHistory;
  readonly states: StateReader;
  readonly texts: StoredTexts;
  readonly changing: Changing;
  readonly references: References;
  readonly now: () => number;
}

function createStateCalls({ store, states, texts, changing, references, now }: StateCallsOptions): StateCalls {
  /** The state as a write left it; the present one where that version is no longer kept. */
  const stateAt = async (key: ThreadKey, version: number): Promise<State> => {
    const head = await liveHead(store, key);
    if (head.version === version) return states.read(key, head);
    const kept = await undefinedIfNotFound(getCheckpoint({ store, texts }, { ...key, checkpointId: String(version) }));
    return kept ? ofAgent(kept.state, head) : states.read(key, await liveHead(store, key));
  };

  return {
    getState: async (key) => states.read(key, await liveHead(store, key)),

    writeState: async (request) => {
      const key = keyOf(request);
      const messages = [...idsOf(request.messages), ...(request.removedFromContext ?? [])];
      const reads = { messages, fields: Object.keys(request.fields), interruptedRun: request.settles === true };
      const toKept = ({ head }: { readonly head: Head }): number => head.version;
      const outcome = await references.withRequest(key, request.messages, () =>
        changing.changeOnRequest({ key, reads, method: 'writeState', request, toKept }, (snapshot) =>
          decideWriteState(request, snapshot, now()),
        ),
      );
      return 'made' in outcome ? states.read(key, outcome.made.head) : stateAt(key, outcome.kept);
    },

    clearState: async (request) => {
      const reads = { fields: 'all', context: true, interruptedRun: true } as const;
      await changing.replyOnRequest({ key: keyOf(request), reads, method: 'clearState', request }, (snapshot) =>
        decideClearState(request, snapshot, now()),
      );
      return {};
    },
  };
}

/** Heads that are read together: so few that calls beside a sweep hardly wait for them. */
const readsAtOnce = 2;
/** The same of the runs that sleep, which are read once after a start and after a retirement. */
const sleepersAtOnce = 32;

const createSweepCalls = (store: ThreadReads & ThreadSweeps, routings: Routings, now: () => number): SweepCalls => ({
  listOpenRuns: async ({ limit, cursor, newestFirst = false }) => {
    const rows = await store.listOpenRuns({ limit: limit + 1, after: cursor, bytes: pageBytes, newestFirst });
    const { items, hasMore } = toPage(rows, { limit, sizeOf: runBytes });
    const known = await routings.get();
    const heads = new Map<OpenRun, Head | undefined>();
    await eachOf(items, readsAtOnce, async (run) => {
      heads.set(run, await store.getHead(run));
    });
    const runs = items.flatMap((run) => {
      const head = heads.get(run);
      return !head || head.deleting ? [] : [withoutRetired(toProtoRun(run.owner, run, head), known)];
    });
    const last = items.at(-1);
    return { runs, ...(hasMore && last ? { cursor: last.runId } : {}) };
  },

  listSleepingRuns: async ({ until = now(), limit, after }) => {
    const rows = await store.listSleepingRuns({ until, after, limit: limit + 1 });
    const { items, hasMore } = toPage(rows, { limit, sizeOf: keyBytes });
    const known = await routings.get();
    const runs: SleepingRun[] = [...items];
    await eachOf([...items.entries()], sleepersAtOnce, async ([index, run]) => {
      runs[index] = { ...run, ...servedBy(await store.getHead(run), known) };
    });
    return { runs, hasMore, now: now() };
  },

  listIdle: async ({ before, waitingBefore, limit }) => ({
    threads: firstPage(await store.listIdle({ before, waitingBefore }, limit)),
  }),

  listDeleting: async ({ limit }) => ({
    threads: await withoutFork(store, firstPage(await store.listDeleting(limit)), now()),
  }),
});

/** A run of a retired revision waits for no worker of that one: whichever worker claims it settles what becomes of it. */
function withoutRetired({ revision, ...run }: Run, routings: RoutingsByAgent): Run {
  return revision === undefined || isRetired(routings.get(run.agent), revision) ? run : { ...run, revision };
}

/** Who is to go on with a run that sleeps. A thread that is gone, or deleted, names nobody: a claim finds out. */
function servedBy(
  head: Head | undefined,
  routings: RoutingsByAgent,
): Pick<SleepingRun, 'agent' | 'revision' | 'isRetired'> {
  if (!head) return {};
  const { revision } = head;
  const agent = agentOf(head) ?? defaultAgent;
  if (revision === undefined) return { agent };
  return isRetired(routings.get(agent), revision) ? { agent, isRetired: true } : { agent, revision };
}

/** As many of the keys as one reply holds; the next sweep finds the others. */
const firstPage = (keys: readonly ThreadKey[]): readonly ThreadKey[] =>
  toPage(keys, { limit: Infinity, sizeOf: keyBytes }).items;

interface DeletionCallsOptions {
  readonly store: ThreadReads & ThreadSweeps & IdempotencyRecords;
  readonly states: StateReader;
  readonly changing: Changing;
  readonly references: References;
  readonly now: () => number;
}

/** Runs read at once. */
const runsAtOnce = 8;

function createDeletionCalls({ store, states, changing, references, now }: DeletionCallsOptions): DeletionCalls {
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
