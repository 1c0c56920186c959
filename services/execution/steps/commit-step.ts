import { isServiceError, type ServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { within } from '@agent-workflow/protos/call';
import { contextTooLarge } from '@agent-workflow/protos/refusals';
import type { CommitStepReply, CommitStepRequest, FusedStep } from '@agent-workflow/protos/threads';
import type { Usage } from '@agent-workflow/protos/usage';
import { RunFailure } from '@agent-workflow/graph/state/failure';
import { whileAway } from '../record/away.ts';
import { onlyNode, type StepNodes } from '../record/committed-step.ts';
import type { StateSize } from '../record/state-size.ts';
import type { DriveOptions } from './drive-options.ts';
import { prepareCommit, type PreparedCommit, type StepCommit } from './prepare-commit.ts';

/** How long one commit may take before the record counts as unavailable, in milliseconds. */
const commitTimeoutMs = 30_000;
/**
 * How long a step that has run waits for the record, in milliseconds. It occupies a slot of its worker meanwhile. After that the
 * run is released, and the step runs again.
 */
const waitMs = 15 * 60_000;

/** What commits are sent with. */
type Sending = Pick<StepCommit, 'threads' | 'replicas' | 'usage' | 'signal' | 'onAway'> & Pick<DriveOptions, 'onUsage'>;

/** Commits a step, as {@link sendCommit}. Resolves with the size of the state after it. */
export async function commitStep(
  commit: StepCommit,
): Promise<{ readonly reply: CommitStepReply; readonly size: StateSize }> {
  const prepared = prepareCommit(commit);
  return { reply: await sendCommit(commit, prepared), size: prepared.size };
}

/**
 * Commits a step behind the fence, and waits while the record is unavailable.
 * @throws RunFailure when the record refuses the step; it is the fault of its nodes.
 * @throws Stale when the run is no longer this worker's.
 * @throws Unavailable when the record was unavailable for 15 minutes; the signal's reason when it fires first.
 */
export async function sendCommit(sending: Sending, { request, used }: PreparedCommit): Promise<CommitStepReply> {
  const reply = await send(sending, request).catch((error: unknown) => {
    throw isServiceError(error, 'Invalid') ? toFailure(error, request) : error;
  });
  noteUsage(sending, used);
  return reply;
}

/**
 * Commits two steps in one write.
 * @returns `undefined` when the record refuses them together: nothing is written then, and they are to be committed apart.
 * @throws as {@link sendCommit}.
 */
export async function sendFused(
  sending: Sending,
  first: PreparedCommit,
  second: PreparedCommit,
): Promise<CommitStepReply | undefined> {
  try {
    const reply = await send(sending, { ...first.request, fused: toFused(second.request) });
    noteUsage(sending, second.used ?? first.used);
    return reply;
  } catch (error) {
    if (isServiceError(error, 'Invalid')) return undefined;
    throw error;
  }
}

function toFused(request: CommitStepRequest): FusedStep {
  const { at, messages, nodes, next, openCalls, end, progressJson, usageJson, work } = request;
  return {
    ...{ at, messages, nodes, next, openCalls },
    ...(end ? { end } : {}),
    ...(progressJson ? { progressJson } : {}),
    ...(usageJson === undefined ? {} : { usageJson }),
    ...(work ? { work } : {}),
  };
}

/** While the record is unavailable the request is repeated with the same attempt id, so that it takes effect once. */
async function send(
  { threads, replicas, signal, onAway }: Sending,
  request: CommitStepRequest,
): Promise<CommitStepReply> {
  const named = { ...request, attemptId: newId() };
  const work = async (): Promise<CommitStepReply> =>
    threads.commitStep(named, { ...within(commitTimeoutMs), replicas });
  return whileAway(work, { signal, onAway, forMs: waitMs });
}

function noteUsage({ usage, onUsage }: Sending, used: Usage | undefined): void {
  const added = used && usage.committed(used);
  if (added) onUsage?.(added);
}

/** A step that the record refuses is the fault of its nodes. */
function toFailure(error: ServiceError, { nodes }: Pick<StepNodes, 'nodes'>): RunFailure {
  const [detail] = error.details;
  const advice = detail?.type === contextTooLarge ? '; a node made by summarizeNode keeps it shorter' : '';
  const [place, name] = detail?.field ?? [];
  const which = place === 'fields' && name !== undefined ? `field "${String(name)}" ` : '';
  const why = detail ? `${which}${detail.msg}` : error.message;
  return new RunFailure('NodeFailed', `${why}${advice}`, { ...onlyNode(nodes), cause: error });
}
