import type { ClaimedRun, CommitStepRequest, RunCalls, State } from '@agent-workflow/protos/threads';
import { FieldsToRead, type DeclaredFields, type RefuseUnfit } from '../agents/declared-fields.ts';
import type { Routings, RoutingsByAgent } from '../agents/routings.ts';
import type { References } from '../files/references.ts';
import { gatherUndos } from '../history/overlay.ts';
import type { ThreadLists } from '../ports/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import { agentOf } from '../record/head.ts';
import { decideAccept, takesPlace, undoesActive } from '../runs/accept.ts';
import { decideClaim, inputIds } from '../runs/claim.ts';
import { decideCommit, fencedHead } from '../runs/commit.ts';
import { decideEnd } from '../runs/end.ts';
import { fromKeptAcceptance, fromKeptClaim, toKeptAcceptance, toKeptClaim } from '../runs/kept-claim.ts';
import { newestOutput } from '../runs/output.ts';
import { decideRelease } from '../runs/release.ts';
import { ResumedToRead, type Resumed } from '../runs/kept-tools.ts';
import { OldRoutings } from '../runs/revision.ts';
import { aheadOf, earlier } from '../runs/worker-clock.ts';
import { claimedState, type StateReader } from '../state/read.ts';
import { CallsToRead, callsIn, type HeldCalls } from '../runs/settled-input.ts';
import type { Message } from '@agent-workflow/protos/message';
import { fromJson } from '../record/json.ts';
import type { Changing } from './changing.ts';
import { idsOf, keyOf, knownRun } from './found.ts';

/** A worker whose clock is ahead of that of the record. */
export interface ClockAhead {
  readonly worker: string | undefined;
  readonly agent: string | undefined;
  readonly revision: string | undefined;
  readonly aheadMs: number;
}

interface RunCallsOptions {
  readonly store: ThreadReads & ThreadLists;
  readonly states: StateReader;
  readonly changing: Changing;
  readonly references: References;
  readonly routings: Routings;
  readonly declared: DeclaredFields;
  readonly now: () => number;
  /** Called with each commit whose times are ahead. */
  readonly onClockAhead: (ahead: ClockAhead) => void;
}

const noRoutings: RoutingsByAgent = new Map();

/** A step that names more messages than this is checked against the fence before any of them is read. */
const fewMessages = 1000;

export function createRunCalls(options: RunCallsOptions): RunCalls {
  const { store, states, changing, references, routings, declared, now, onClockAhead } = options;
  const { changeOnRequest, replyOnRequest } = changing;

  /** Changes a thread by the routings that are known here; where that may be too old, by those that the store has now. */
  const byRoutings = async <T>(change: (known: RoutingsByAgent) => Promise<T>): Promise<T> => {
    try {
      return await change(await routings.get());
    } catch (error) {
      if (!(error instanceof OldRoutings)) throw error;
      return change(await routings.getNew());
    }
  };

  /** Changes a thread by its head; where a run goes on from an interrupted one, by the options of that too. */
  const byResumed = async <T>(owner: string, change: (resumed: Resumed | undefined) => Promise<T>): Promise<T> => {
    try {
      return await change(undefined);
    } catch (error) {
      if (!(error instanceof ResumedToRead)) throw error;
      const { runId } = error;
      return change({ runId, options: (await store.getRun(owner, runId))?.options });
    }
  };

  /** Changes a thread by its head; where results of an input may stand in its context already, by the calls of that too. */
  const byHeldCalls = async <T>(key: ThreadKey, change: (held: HeldCalls | undefined) => Promise<T>): Promise<T> => {
    try {
      return await change(undefined);
    } catch (error) {
      if (!(error instanceof CallsToRead)) throw error;
      const { version, contextJson } = await states.read(key, error.head);
      return change(callsIn(version, fromJson(contextJson) as Message[]));
    }
  };

  /** Changes a thread by what is known here of the fields of its run's revision; where that does not decide it, by what is read then. */
  const byDeclaredFields = async <T>(change: (refuse: RefuseUnfit) => Promise<T>): Promise<T> => {
    try {
      return await change(declared.refuseUnfit);
    } catch (error) {
      if (!(error instanceof FieldsToRead)) throw error;
      return change(await declared.read(error.agent, error.revision));
    }
  };

  /** @throws Stale when the worker no longer has the run, or the step is not the next one; not for a step that was committed already. */
  const refusePastStep = (key: ThreadKey, request: CommitStepRequest): Promise<unknown> =>
    changeOnRequest({ key, method: 'commitStep', request, toKept: () => undefined }, (snapshot) => {
      fencedHead(request, snapshot);
      return { reply: undefined };
    });

  return {
    acceptRun: async (request) => {
      const key = keyOf(request);
      // The store gathers anew at each attempt: what an earlier attempt gathered is void.
      let undone = gatherUndos();
      const reads = {
        runs: [request.runId],
        newRun: { runId: request.runId, isNew: request.runIdIsNew === true },
        isNewThread: request.threadIdIsNew === true,
        activeRun: takesPlace(request),
        messages: idsOf(request.messages),
        ...(undoesActive(request) ? { undosOfActiveRun: () => (undone = gatherUndos()) } : {}),
      };
      const outcome = await references.withRequest(key, request.messages, () =>
        byHeldCalls(key, (held) =>
          byResumed(key.owner, (resumed) =>
            byRoutings((routings) =>
              changeOnRequest({ key, reads, method: 'acceptRun', request, toKept: toKeptAcceptance }, (snapshot) =>
                decideAccept(request, { ...snapshot, undone, routings, resumed, held }, now()),
              ),
            ),
          ),
        ),
      );
      const reply = 'made' in outcome ? outcome.made : await fromKeptAcceptance(store, key, outcome.kept);
      const { claimed } = reply;
      if (!claimed || canDerive(claimed, request.claim?.knownVersion)) return reply;
      return { ...reply, claimed: withState(claimed, await claimedState(store, key, claimed)) };
    },

    claimRun: async (request, { signal }) => {
      const timed = (claimed: ClaimedRun): ClaimedRun => ({ ...claimed, now: now() });
      const key = keyOf(request);
      const messages = inputIds(await knownRun(store, request.owner, request.runId));
      const reads = { runs: [request.runId], messages };
      const outcome = await byHeldCalls(key, (held) =>
        byResumed(key.owner, (resumed) =>
          byRoutings((routings) =>
            changeOnRequest({ key, reads, method: 'claimRun', request, toKept: toKeptClaim }, (snapshot) =>
              decideClaim(request, snapshot, { now: now(), routings, resumed, held }),
            ),
          ),
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
      // Only the end of a run gives the thread to another, and only a sleep ends early when its revision is retired.
      const isRouted = end !== undefined || request.wakeAt !== undefined;
      const messages = fused ? [...request.messages, ...fused.messages] : request.messages;
      let committed: Head | undefined;
      const commit = (refuseUnfit: RefuseUnfit) => (known: RoutingsByAgent) =>
        replyOnRequest({ key, reads, method: 'commitStep', request }, (snapshot) => {
          const decision = decideCommit(request, snapshot, { routings: known, refuseUnfit });
          committed = snapshot.head;
          return decision;
        });
      const reply = await references.withStep(key, messages, () =>
        byDeclaredFields((refuse) => (isRouted ? byRoutings(commit(refuse)) : commit(refuse)(noRoutings))),
      );
      if (aheadMs > 0 && committed) onClockAhead({ ...servingOf(committed), aheadMs });
      return reply;
    },

    endRun: async (request) => {
      const { threadId } = await knownRun(store, request.owner, request.runId);
      const key = { owner: request.owner, threadId };
      return byRoutings((known) =>
        replyOnRequest({ key, reads: { runs: [request.runId] }, method: 'endRun', request }, (snapshot) =>
          decideEnd(request, snapshot, { now: now(), routings: known }),
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
