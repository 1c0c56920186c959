import { isRunFailure } from '@agent-workflow/graph/state/failure';
import { runStep } from '@agent-workflow/graph/run/step';
import type { StepResult } from '@agent-workflow/graph/run/super-step';
import { chunksOf } from '@agent-workflow/graph/state/message-chunks';
import { hideInherited } from '@agent-workflow/runtime/built-ins';
import type { EventWriter } from '../events/event-writer.ts';
import { isServiceAway } from './node-calls.ts';
import { createBranchRecords } from './branch-records.ts';
import type { DriveOptions } from './drive-options.ts';
import { atOnce, type Later } from './hold.ts';
import { awakeNodes, type StepState } from './run-state.ts';
import { publish } from './publish.ts';
import { createToolCallRecords } from './tool-call-records.ts';

/** What a step came to, and how often its nodes began again after an error. */
export interface RanStep extends StepResult {
  readonly retries: number;
}

type StepParts = Parameters<typeof runStep>[0];

/** Of a step that has begun early. */
export interface EarlyParts {
  /** Absent: what nodes emit is published at once. */
  readonly publishLater?: Later;
  /** As in the engine's step. */
  readonly countsFrom?: () => Promise<void>;
  readonly onToolTurn?: StepParts['onToolTurn'] | undefined;
}

/**
 * Runs the nodes of one step, and publishes what they emit as soon as `publishLater` lets it.
 * @throws RunFailure when a node fails; the store's own error when a store is the reason.
 */
export async function runNodes(
  options: DriveOptions,
  events: EventWriter,
  runState: StepState,
  { publishLater = atOnce, countsFrom, onToolTurn }: EarlyParts = {},
): Promise<RanStep> {
  const { graph, runContext } = options;
  const { nodes, step } = runState;
  options.onStep(awakeNodes(runState));
  // The beginning of the first step was published when the log was opened.
  if (step !== options.claimed.step) {
    publishLater('', () => {
      const started = awakeNodes(runState).map((node) =>
        events.write('on_chain_stream', { node, step, status: 'started' }, { node, step }),
      );
      publish(options, events, started);
    });
  }
  const records = createToolCallRecords({ ...options, step });
  const publishStatus = (node: string, what: object, content: unknown = ''): void => {
    if (runContext.signal.aborted) return;
    publishLater(content, () => {
      publish(options, events, [events.write('on_chain_stream', { node, step, ...what }, { node, step })]);
    });
  };
  const branchRecords = createBranchRecords(options, step);
  let retries = 0;
  const running = runStep({
    graph,
    nodes,
    number: step,
    at: runState.at,
    now: options.now,
    state: runState.state,
    run: runContext,
    ...{ countsFrom, onToolTurn },
    servicesUnder: options.servicesUnder,
    continuation: runState.continuation,
    answers: runState.answers,
    isRemote: options.isRemote,
    toolCallRecords: records,
    branchRecords,
    onFault: options.onFault,
    onLate: options.onLate,
    onUsage: options.usage.add,
    onRestart: (node, attempt, branch) => {
      retries += 1;
      publishStatus(node, { status: 'restarted', attempt, ...ofBranch(branch) });
    },
    onProgress: (node, custom, branch) =>
      publishStatus(node, { status: 'progress', ...ofBranch(branch), custom }, custom),
    onHeld: (node, message) => {
      if (runContext.signal.aborted) return;
      const { message_id: messageId, role } = message;
      for (const chunk of chunksOf(message, events.published.message(messageId)))
        publish(options, events, [events.chunk(node, step, { messageId, role, chunk })]);
    },
    onChunk: (node, chunk) => {
      if (runContext.signal.aborted) return;
      publishLater(chunk.chunk, () => {
        publish(options, events, [events.chunk(node, step, chunk)]);
      });
    },
  });
  const result = await running.finally(hideInherited).catch((error: unknown) => {
    const cause = isRunFailure(error) ? error.cause : undefined;
    // A store that is unavailable, or refuses the worker, does not fail the run: it is requeued, and its step runs again.
    throw records.failure() ?? branchRecords.failure() ?? (isServiceAway(cause) ? cause : error);
  });
  return { ...result, retries };
}

const ofBranch = (branch: number | undefined): object => (branch === undefined ? {} : { branch });
