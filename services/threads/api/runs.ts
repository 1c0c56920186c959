import { ownerOfKeys } from '@agent-workflow/protos/answerer';
import { namesQuestion } from '@agent-workflow/protos/question-id';
import type {
  AnswerQuestionReply,
  AnswerQuestionRequest,
  ClaimedRun,
  CommitStepReply,
  CommitStepRequest,
  RunCalls,
  State,
  Run,
  RunEnd,
  RunReadCalls,
  AcceptRunReply,
  AcceptRunRequest,
} from '@agent-workflow/protos/threads';
import { FieldsToRead, type DeclaredFields, type RefuseUnfit } from '../agents/declared-fields.ts';
import type { Routings, RoutingsByAgent } from '../agents/routings.ts';
import type { References } from '../files/references.ts';
import { gatherUndos } from '../history/overlay.ts';
import type { ThreadLists } from '../ports/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ResourceRecords } from '../ports/resources.ts';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';
import { idsOfAddressed, unheardOf } from '../record/addressed.ts';
import { agentOf } from '../record/head.ts';
import { decidePassDeadline, questionsWithDeadline } from '../runs/deadline.ts';
import { runOfDeadline } from '../runs/late-answer.ts';
import type { Reads } from '../ports/changes.ts';
import { defaultAgent } from '@agent-workflow/kit/agents';
import { invalid, isServiceError } from '@agent-workflow/kit/errors';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import { closed, decideAnswer, keysOfAnswers, repeatedAnswer } from '../runs/answer-question.ts';
import { decideAccept, refuseLate, takesPlace, undoesActive, type StartingPoint } from '../runs/accept.ts';
import { isVersionConflict } from '../state/write.ts';
import { decideClaim, inputIds } from '../runs/claim.ts';
import { withCompletionNote } from '../runs/completion-note.ts';
import { decideCommit, fencedHead } from '../runs/commit.ts';
import { decideEnd } from '../runs/commit.ts';
import { listRunRequests } from '../runs/requests.ts';
import { newestOutput } from '../runs/steps.ts';
import { decideRelease } from '../runs/commit.ts';
import { ResumedToRead, type Resumed } from '../runs/resumed.ts';
import { OldRoutings } from '../runs/revision.ts';
import { aheadOf, earlier } from '../runs/worker-clock.ts';
import { claimedState, type StateReader } from '../state/read.ts';
import { CallsToRead, callsIn, type HeldCalls } from '../runs/settled-input.ts';
import type { Message } from '@agent-workflow/protos/message';
import { fromJson } from '../record/json.ts';
import { getCheckpoint } from '../history/checkpoints.ts';
import type { Changing } from './changing.ts';
import type { QuestionBound } from './question-bound.ts';
import { withInputFields } from './input-fields.ts';
import { readsTried, restoringChange } from './restore-thread.ts';
import { idsOf, keyOf, knownRun, liveHead } from './found.ts';
import { listRunMessages, listRuns, toProtoRun } from '../lists/lists.ts';
import { countRuns, listAllRuns, listOwnRuns } from '../lists/own-runs.ts';
import type { ThreadHistory } from '../ports/history.ts';
import { isOver, senderOf, shareOf } from '../record/sender.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { listRunSteps } from '../runs/steps.ts';
import { listRunTrace } from '../runs/trace.ts';

/** A worker whose clock is ahead of that of the record. */
export interface ClockAhead {
  readonly worker: string | undefined;
  readonly agent: string | undefined;
  readonly revision: string | undefined;
  readonly aheadMs: number;
}

/** A role to which a run has addressed a question, and which nobody can have. */
export interface Unheard {
  readonly role: string;
  readonly agent: string;
  readonly runId: string;
}

interface RunCallsOptions {
  readonly store: ThreadReads & ThreadLists & ThreadHistory & Pick<ResourceRecords, 'getResource'>;
  readonly states: StateReader;
  readonly texts: StoredTexts;
  readonly changing: Changing;
  readonly references: References;
  readonly routings: Routings;
  readonly declared: DeclaredFields;
  readonly questionBound: QuestionBound;
  readonly now: () => number;
  /** Called with each commit whose times are ahead. */
  readonly onClockAhead: (ahead: ClockAhead) => void;
  /** Called with each question to a role that nobody can have. */
  readonly onUnheard: (unheard: Unheard) => void;
}

const noRoutings: RoutingsByAgent = new Map();

/** What decisions are made by beside the thread, as far as it is known here. */
interface Known {
  readonly routings: RoutingsByAgent;
  readonly refuseUnfit: RefuseUnfit;
  /** The run that it goes on from, where that has failed, was stopped, or asks in a thread that this one was forked from. */
  readonly resumed?: Resumed;
  /** The calls of its context, where results of an input may stand in that already. */
  readonly held?: HeldCalls;
}

/** Questions that a late answer names whose runs are looked up. */
const mostNamed = 10;

/** Runs from which others go on, between a question and its answer. */
const mostHops = 20;

/** How often one change reads what it lacked: another write may come between, after which it lacks something else. */
const mostReads = 5;

/** A step that names more messages than this is checked against the fence before any of them is read. */
const fewMessages = 1000;

export function createRunCalls(options: RunCallsOptions): RunCalls {
  const {
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
  } = options;
  const { changeOnRequest, replyOnRequest } = changing;

  /** What a decision lacked that has thrown this error; `undefined` for any other error. */
  const readFor = async (
    key: ThreadKey,
    error: unknown,
    checkpointId: string | undefined,
  ): Promise<Partial<Known> | undefined> => {
    if (error instanceof OldRoutings) return { routings: await routings.getNew() };
    if (error instanceof FieldsToRead) return { refuseUnfit: await declared.read(error.agent, error.revision) };
    if (error instanceof ResumedToRead) {
      const { runId } = error;
      return { resumed: { runId, options: (await store.getRun(key.owner, runId))?.options } };
    }
    if (!(error instanceof CallsToRead)) return undefined;
    const { contextJson } =
      checkpointId === undefined
        ? await states.read(key, error.head)
        : (await getCheckpoint({ store, texts }, { ...key, checkpointId })).state;
    return { held: callsIn(error.head.version, fromJson(contextJson) as Message[]) };
  };

  /** Changes a thread by what is known here; where that does not decide it, by what is read then. */
  const byKnown = async <T>(
    key: ThreadKey,
    change: (known: Known) => Promise<T>,
    { isRouted = true, checkpointId }: { readonly isRouted?: boolean; readonly checkpointId?: string } = {},
  ): Promise<T> => {
    const { refuseUnfit } = declared;
    let known: Known = { routings: isRouted ? await routings.get() : noRoutings, refuseUnfit };
    for (let reads = 0; ; reads++) {
      try {
        return await change(known);
      } catch (error) {
        const found = reads < mostReads ? await readFor(key, error, checkpointId) : undefined;
        if (!found) throw error;
        known = { ...known, ...found };
      }
    }
  };

  /** @throws Conflict when what is answered are questions whose deadlines have passed, and that is known of the runs that went on then. */
  const refuseLateAnswer = async (key: ThreadKey, request: AcceptRunRequest): Promise<void> => {
    const head = await store.getHead(key);
    const named = (request.resume?.keys ?? []).filter(namesQuestion).slice(0, mostNamed).map(runOfDeadline);
    for (const runId of [...(head?.newestRun === undefined ? [] : [head.newestRun]), ...named]) {
      const run = await store.getRun(key.owner, runId);
      if (run?.threadId === key.threadId) refuseLate(request, run);
    }
  };

  /** @throws Stale when the worker no longer has the run, or the step is not the next one; not for a step that was committed already. */
  const refusePastStep = (key: ThreadKey, request: CommitStepRequest): Promise<unknown> =>
    changeOnRequest({ key, method: 'commitStep', request, toKept: () => undefined }, (snapshot) => {
      fencedHead(request, snapshot);
      return { reply: undefined };
    });

  /** @throws Invalid when the run would end with more questions to others than its owner may have. */
  const refuseManyQuestions = async (key: ThreadKey, runId: string, end: RunEnd): Promise<void> => {
    const asked = idsOfAddressed(end);
    const head = asked.length > 0 ? await store.getHead(key) : undefined;
    const more = asked.filter((id) => head?.addressed?.every((known) => known.id !== id) ?? true).length;
    const run = head && more > 0 ? await store.getRun(key.owner, runId) : undefined;
    const agent = (head && agentOf(head)) ?? defaultAgent;
    for (const role of run ? unheardOf(end, run) : []) onUnheard({ role, agent, runId });
    const why = head && (await questionBound.refusal(key.owner, agent, more));
    if (why !== undefined) throw invalid(['interrupts'], why);
  };

  const accept = async (request: AcceptRunRequest, start?: StartingPoint): Promise<AcceptRunReply> => {
    const key = keyOf(request);
    // The store gathers anew at each attempt: what an earlier attempt gathered is void.
    let undone = gatherUndos();
    const reads = {
      runs: request.retryOf === undefined ? [request.runId] : [request.runId, request.retryOf],
      newRun: { runId: request.runId, isNew: request.runIdIsNew === true },
      isNewThread: request.threadIdIsNew === true,
      activeRun: takesPlace(request) || request.resume !== undefined,
      interruptedRun: true,
      messages: idsOf(request.messages),
      ...(undoesActive(request) ? { undosOfActiveRun: () => (undone = gatherUndos()) } : {}),
    };
    const outcome = await references
      .withRequest(key, request.messages, () =>
        byKnown(
          key,
          ({ routings, resumed, held }) =>
            changeOnRequest({ key, reads, method: 'acceptRun', request, toKept: toKeptAcceptance }, (snapshot) => {
              const at = now();
              const decision = decideAccept(request, { ...snapshot, undone, routings, resumed, held, start }, at);
              return request.deletesThreadAfterMs === undefined ? decision : withCompletionNote(decision, request, at);
            }),
          start,
        ),
      )
      .catch(async (error: unknown) => {
        if (request.resume && isServiceError(error, 'BadRequest')) await refuseLateAnswer(key, request);
        throw error;
      });
    const reply = 'made' in outcome ? outcome.made : await fromKeptAcceptance(store, key, outcome.kept);
    const { claimed } = reply;
    if (!claimed || canDerive(claimed, request.claim?.knownVersion)) return reply;
    return { ...reply, claimed: withState(claimed, await claimedState(store, key, claimed)) };
  };

  /** Brings the thread back to a checkpoint, and accepts the run, in one change. */
  const acceptAt = async (request: AcceptRunRequest, checkpointId: string): Promise<AcceptRunReply> => {
    const key = keyOf(request);
    for (let read = 1; ; read++) {
      const head = await liveHead(store, key);
      // A request that was accepted before gets its reply, whatever has become of the checkpoint.
      const [restoring] = await Promise.allSettled([
        head.activeRun === undefined ? restoringChange(store, { key, head, checkpointId, now: now() }) : undefined,
      ]);
      const restored = restoring.status === 'fulfilled' ? restoring.value : undefined;
      await questionBound.refuseOpening(key.owner, restored?.head);
      const start = { checkpointId, version: head.version, restoring };
      try {
        const given = await withInputFields(store, key, request, checkpointId);
        return await references.withStep(key, restored?.messages ?? [], () => accept(given, start));
      } catch (error) {
        if (read === readsTried || !isVersionConflict(error)) throw error;
      }
    }
  };

  /** The run that asks is read before: what it was given never changes. */
  const answer = async (key: ThreadKey, request: AnswerQuestionRequest): Promise<AnswerQuestionReply> => {
    const head = await liveHead(store, key);
    const { interruptedRun } = head;
    const revoked = new Set<string>();
    for (const id of keysOfAnswers(head, request))
      if (!(await store.getResource({ kind: 'api_key', owner: ownerOfKeys, id }))) revoked.add(id);
    const asking = interruptedRun === undefined ? undefined : await store.getRun(key.owner, interruptedRun);
    const { runId } = request;
    const reads: Reads = { runs: [runId], newRun: { runId, isNew: false }, interruptedRun: true };
    return byKnown(key, ({ routings }) =>
      replyOnRequest({ key, reads, method: 'answerQuestion', request }, (snapshot) =>
        decideAnswer(request, snapshot, { asking, now: now(), routings, undone: gatherUndos(), revoked }),
      ),
    );
  };

  /** The run that brought an answer to the question: one of those that go on from the run that asked first. */
  const runWithAnswer = async (key: ThreadKey, id: string): Promise<RunRecord | undefined> => {
    let runId: string | undefined = id.slice(0, Math.max(0, id.indexOf('/')));
    for (let hops = 0; hops < mostHops && runId; hops++) {
      const run: RunRecord | undefined = await store.getRun(key.owner, runId);
      if (run?.threadId !== key.threadId) return undefined;
      if (run.resume?.includes(id)) return run;
      runId = run.resumedBy;
    }
    return undefined;
  };

  return {
    acceptRun: (request) =>
      request.checkpointId === undefined ? accept(request) : acceptAt(request, request.checkpointId),

    claimRun: async (request, { signal }) => {
      const timed = (claimed: ClaimedRun): ClaimedRun => ({ ...claimed, now: now() });
      const key = keyOf(request);
      const known = await knownRun(store, request.owner, request.runId);
      const share = shareOf(known);
      const isRevoked = share !== undefined && (await isOver(store, request.owner, share, now()));
      const reads = { runs: [request.runId], messages: inputIds(known), interruptedRun: true };
      const outcome = await byKnown(key, ({ routings, resumed, held }) =>
        changeOnRequest({ key, reads, method: 'claimRun', request, toKept: toKeptClaim }, (snapshot) =>
          decideClaim(request, snapshot, { now: now(), routings, resumed, held, isRevoked }),
        ),
      );
      const claimed = 'made' in outcome ? outcome.made : await fromKeptClaim(store, key, outcome.kept);
      if (
        claimed.givenUp ||
        claimed.lastClaim ||
        claimed.otherAgent !== undefined ||
        claimed.otherRevision !== undefined
      )
        return timed(claimed);
      const run = claimed.isTakeover ? await store.getRun(request.owner, claimed.runId) : undefined;
      const output = run ? await newestOutput(store, key, run, signal) : {};
      if (canDerive(claimed, request.knownVersion)) return timed({ ...claimed, ...output });
      return timed({ ...withState(claimed, await claimedState(store, key, claimed)), ...output });
    },

    releaseRun: (request) =>
      replyOnRequest(
        { key: keyOf(request), reads: { runs: [request.runId] }, method: 'releaseRun', request },
        (snapshot) => decideRelease(request, snapshot, now()),
      ),

    commitStep: async (sent) => {
      const aheadMs = aheadOf(sent, now());
      const request = earlier(sent, aheadMs);
      const replaced = request.replacesMessages ? idsOf(request.messages) : [];
      const { wakeAt, fused } = request;
      const end = request.end ?? fused?.end;
      const usageJson = request.usageJson ?? fused?.usageJson;
      const writesRun = end !== undefined || wakeAt !== undefined || usageJson !== undefined;
      const reads = {
        runs: writesRun ? [request.runId] : [],
        messages: [...new Set([...replaced, ...request.removedFromContext])],
        fields: Object.keys(request.fields),
        isFenced: true,
      };
      const key = keyOf(request);
      if (reads.messages.length > fewMessages) await refusePastStep(key, request);
      if (end?.status === 'interrupted') await refuseManyQuestions(key, request.runId, end);
      // Only the end of a run gives the thread to another, and only a sleep ends early when its revision is retired.
      const isRouted = end !== undefined || request.wakeAt !== undefined;
      const messages = fused ? [...request.messages, ...fused.messages] : request.messages;
      let committed: Head | undefined;
      const commit = (known: Known): Promise<CommitStepReply> =>
        replyOnRequest({ key, reads, method: 'commitStep', request }, (snapshot) => {
          const decision = decideCommit(request, snapshot, known);
          committed = snapshot.head;
          return decision;
        });
      const reply = await references.withStep(key, messages, () => byKnown(key, commit, { isRouted }));
      if (aheadMs > 0 && committed) onClockAhead({ ...servingOf(committed), aheadMs });
      return reply;
    },

    passDeadline: async (request) => {
      const key = keyOf(request);
      const asking = await store.getRun(request.owner, request.runId);
      const ids = (asking ? questionsWithDeadline(asking) : []).slice(0, 1).map(({ id }) => runOfDeadline(id));
      const [runId] = ids;
      const reads: Reads = {
        runs: [request.runId, ...ids],
        ...(runId !== undefined && { newRun: { runId, isNew: false } }),
      };
      return byKnown(key, ({ routings }) =>
        changing.change(key, reads, (snapshot) =>
          decidePassDeadline(request, snapshot, { now: now(), routings, undone: gatherUndos() }),
        ),
      );
    },

    answerQuestion: async (request) => {
      const key = keyOf(request);
      refuseOver(request.answerJson.byteLength, sizes.resume, ['answer']);
      try {
        if (request.onlyRepeated) throw closed(request);
        return await answer(key, request);
      } catch (error) {
        const run = isServiceError(error, 'Conflict') ? await runWithAnswer(key, request.interruptId) : undefined;
        const reply = run && repeatedAnswer(request, run);
        if (!reply) throw error;
        return reply;
      }
    },

    endRun: async (request) => {
      const threadId = request.threadId ?? (await knownRun(store, request.owner, request.runId)).threadId;
      const key = { owner: request.owner, threadId };
      return byKnown(key, ({ routings }) =>
        replyOnRequest(
          {
            key,
            reads: { runs: [request.runId], messages: idsOf(request.partial?.messages ?? []) },
            method: 'endRun',
            request,
          },
          (snapshot) => decideEnd(request, snapshot, { now: now(), routings }),
        ),
      );
    },
  };
}

const servingOf = (head: Head): Omit<ClockAhead, 'aheadMs'> => ({
  worker: head.worker,
  agent: agentOf(head),
  revision: head.revision,
});

/**
 * Whether the worker can make the state after the claim from the version that it has in memory. It cannot when a message was
 * replaced: that may have come back to its position in the context.
 */
const canDerive = ({ previousVersion, replaced }: ClaimedRun, knownVersion: number | undefined): boolean =>
  previousVersion === knownVersion && !replaced;

/** The claim with the state. The state holds the appended messages, so the claim names them by their ids alone. */
const withState = (claimed: ClaimedRun, state: State): ClaimedRun => ({
  ...claimed,
  appended: claimed.appended.map(({ messageId }) => ({ messageId, json: new Uint8Array() })),
  state,
});

interface RunReadCallsOptions {
  readonly store: ThreadReads & ThreadLists & ThreadHistory;
  readonly texts: StoredTexts;
  readonly now: () => number;
}

export const createRunReadCalls = ({ store, texts, now }: RunReadCallsOptions): RunReadCalls => ({
  getRun: async ({ owner, runId }) => {
    const run = await knownRun(store, owner, runId);
    const head = await liveHead(store, { owner, threadId: run.threadId });
    const sender = senderOf(run);
    return { ...toProtoRun(owner, run, head), ...answeredByOf(run), ...(sender !== undefined && { sender }) };
  },

  listRunRequests: async (request) => ({ requests: await listRunRequests(store, request) }),

  listRuns: async (request, call) => listRuns(store, request, await liveHead(store, keyOf(request)), call),

  listOwnRuns: (request, call) => listOwnRuns(store, request, call, now()),
  // A cursor that is refused is a rejection, as that of every call.
  listAllRuns: async (request, call) => listAllRuns(store, request, call, now()),
  // A refusal is a rejection, as that of every call.
  countRuns: async (request, call) => countRuns(store, request, call, now()),

  listRunMessages: async (request, call) => {
    const run = await knownRun(store, request.owner, request.runId);
    await liveHead(store, { owner: request.owner, threadId: run.threadId });
    return listRunMessages({ store, texts }, request, run, call);
  },

  listRunSteps: async (request) => {
    const run = await knownRun(store, request.owner, request.runId);
    const key = { owner: request.owner, threadId: run.threadId };
    return { steps: await listRunSteps({ store, texts }, key, request, await liveHead(store, key)) };
  },

  listRunTrace: async (request) => {
    const { threadId } = await knownRun(store, request.owner, request.runId);
    const key = { owner: request.owner, threadId };
    // The head is read before the run: one that has ended since is shown as ended.
    const head = await liveHead(store, key);
    return listRunTrace(store, key, request, { head, run: await knownRun(store, request.owner, request.runId) });
  },
});

/** Who gave the answers that the run brings. */
function answeredByOf({ options }: RunRecord): Pick<Run, 'answeredByJson'> {
  if (!Buffer.from(options.buffer, options.byteOffset, options.byteLength).includes('"answeredBy":')) return {};
  const { answeredBy } = fromJson(options) as { readonly answeredBy?: unknown };
  return Array.isArray(answeredBy) ? { answeredByJson: JSON.stringify(answeredBy) } : {};
}

/** A claim without the binary values of its reply, which are read from the record again. */
interface KeptClaim extends Omit<ClaimedRun, 'appended' | 'optionsJson' | 'progressJson' | 'state'> {
  /** Ids of messages. */
  readonly appended: readonly string[];
  readonly hasProgress: boolean;
}

/** Nothing is kept of a claim that another agent, or another revision, has to make. */
const toKeptClaim = (claimed: ClaimedRun): KeptClaim | undefined =>
  claimed.otherAgent === undefined && claimed.otherRevision === undefined ? keptOf(claimed) : undefined;

const keptOf = ({ appended, optionsJson: _, progressJson, state: _state, ...rest }: ClaimedRun): KeptClaim => ({
  ...rest,
  appended: appended.map(({ messageId }) => messageId),
  hasProgress: progressJson !== undefined,
});

/** The reply to the claim without the state. The fence keeps the rows unchanged until the claiming worker commits. */
async function fromKeptClaim(
  store: ThreadReads,
  key: ThreadKey,
  { appended: ids, hasProgress, ...rest }: KeptClaim,
): Promise<ClaimedRun> {
  const [run, head] = await Promise.all([store.getRun(key.owner, rest.runId), store.getHead(key)]);
  const appended: ClaimedRun['appended'][number][] = [];
  for (const messageId of ids) {
    const message = await store.getMessage(key, messageId);
    if (message) appended.push({ messageId, json: message.json });
  }
  return {
    ...rest,
    appended,
    optionsJson: run?.options ?? new Uint8Array(),
    ...(hasProgress && head?.progress ? { progressJson: head.progress } : {}),
  };
}

interface KeptAcceptance extends Omit<AcceptRunReply, 'claimed'> {
  readonly claimed?: KeptClaim;
}

/** Nothing is kept of a run that was not accepted, because the thread belongs to another agent. */
const toKeptAcceptance = ({ claimed, ...reply }: AcceptRunReply): KeptAcceptance | undefined =>
  reply.otherAgent === undefined ? { ...reply, ...(claimed && { claimed: keptOf(claimed) }) } : undefined;

async function fromKeptAcceptance(
  store: ThreadReads,
  key: ThreadKey,
  { claimed, ...reply }: KeptAcceptance,
): Promise<AcceptRunReply> {
  return { ...reply, ...(claimed && { claimed: await fromKeptClaim(store, key, claimed) }) };
}
