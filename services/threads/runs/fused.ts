import type { CommitStepReply, CommitStepRequest, FusedStep } from '@agent-workflow/protos/threads';
import type { Change, Decision, Snapshot } from '../ports/changes.ts';

/** A step that is to be written. */
export type StepDecision = Required<Decision<CommitStepReply>>;

/** The request that would commit the fused step alone, after the step of the request. */
export function fusedRequest(
  { owner, threadId, runId, epoch, step }: CommitStepRequest,
  fused: FusedStep,
): CommitStepRequest {
  return {
    ...{ owner, threadId, runId, epoch, step: step + 1 },
    ...{ fields: {}, replacesMessages: false, removedFromContext: [], openInterrupts: [] },
    ...fused,
  };
}

/** What a decision about the fused step sees. Its messages are new and it writes no fields, so that it needs no more than this. */
export function snapshotAfter(before: Snapshot, { head, runs = [] }: Change): Snapshot {
  return {
    ...{ head, fields: {}, entries: new Map(), context: [] },
    runs: new Map([...before.runs, ...runs.map((run) => [run.runId, run] as const)]),
  };
}

/** One change that writes both steps, each with its version and its checkpoint. */
export function fuse({ change: first, reply: { rejoined } }: StepDecision, second: StepDecision): StepDecision {
  const { messages = [], removedFromContext = [], fields = {}, runs = [], checkpoint, head } = first;
  const positions = messages.map(({ position }) => position);
  const written = new Map([...runs, ...(second.change.runs ?? [])].map((run) => [run.runId, run]));
  return {
    change: {
      ...second.change,
      ...{ fields, removedFromContext },
      messages: [...messages, ...(second.change.messages ?? [])],
      ...(written.size === 0 ? {} : { runs: [...written.values()] }),
      ...(checkpoint ? { passed: { version: head.version, checkpoint, positions } } : {}),
    },
    reply: { ...second.reply, ...(rejoined === undefined ? {} : { rejoined }) },
  };
}
