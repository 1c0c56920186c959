import type { RunStatus } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { toConfig } from './assistant.ts';
import type { Started } from './kept-request.ts';
import { shownTime } from './shown-time.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The statuses of LangGraph. A run that asks something has done what it could: the thread is `interrupted`, and not the run. */
export const statusOfRun: Readonly<Record<RunStatus, 'pending' | 'running' | 'error' | 'success' | 'interrupted'>> = {
  queued: 'pending',
  running: 'running',
  sleeping: 'running',
  interrupted: 'success',
  completed: 'success',
  failed: 'error',
  stopped: 'interrupted',
};

/** Whether another run took its place by `rollback`: then it is gone, as there. */
export const isUndone = ({ end }: Run): boolean => end?.undone === true;

interface RunFacts {
  readonly runId: string;
  readonly threadId: string;
  readonly agent: string;
  /** The assistant that its config names. */
  readonly assistantId?: string | undefined;
  readonly status: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The facts of a run on record. */
export const factsOf = (run: Run): RunFacts => ({
  ...{ runId: run.runId, threadId: run.threadId, agent: run.agent, status: statusOfRun[run.status] },
  ...{ createdAt: run.createdAt, updatedAt: run.updatedAt },
});

/** A run as LangGraph's clients read it. One that another dialect has started shows nothing of its request but the assistant. */
export function toRun(
  { runId, threadId, agent, assistantId: named, status, createdAt, updatedAt }: RunFacts,
  started?: Started,
): JsonObject {
  const assistantId = started?.assistantId ?? named ?? assistantIdOf(agent);
  return {
    run_id: runId,
    thread_id: threadId,
    assistant_id: assistantId,
    metadata: { ...started?.body.metadata, created_by: 'system', graph_id: agent, assistant_id: assistantId },
    status,
    kwargs: started ? kwargsOf(started, { runId, threadId, agent, assistantId }) : {},
    multitask_strategy: started?.body.multitask_strategy ?? 'enqueue',
    created_at: shownTime(createdAt),
    updated_at: shownTime(updatedAt),
    langsmith_session_name: null,
  };
}

interface Ids {
  readonly runId: string;
  readonly threadId: string;
  readonly agent: string;
  readonly assistantId: string;
}

function kwargsOf({ body, config, leftOut }: Started, { runId, threadId, agent, assistantId }: Ids): JsonObject {
  const { configurable, ...shown } = toConfig(config);
  const ids = { run_id: runId, thread_id: threadId, graph_id: agent, assistant_id: assistantId };
  return {
    input: body.input ?? null,
    command: body.command ?? null,
    config: {
      ...shown,
      configurable: { ...(configurable as JsonObject | undefined), ...body.context, ...ids },
      metadata: body.metadata ?? {},
    },
    context: body.context ?? configurable ?? {},
    stream_mode: [body.stream_mode ?? 'values'].flat(),
    interrupt_before: body.interrupt_before ?? null,
    interrupt_after: body.interrupt_after ?? null,
    webhook: body.webhook ?? null,
    feedback_keys: null,
    temporary: body.on_completion === 'delete',
    subgraphs: body.stream_subgraphs ?? false,
    resumable: body.stream_resumable ?? false,
    checkpoint_during: body.checkpoint_during ?? true,
    durability: body.durability ?? 'async',
    ...(leftOut && { left_out: leftOut }),
  };
}
