import { isServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { Health } from '@agent-workflow/runtime/health';
import type { CountOpenRunsReply, Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import type { KnownAgents } from '../record/known-agents.ts';
import type { CodeCalls } from '../ports/code-calls.ts';
import type { RunControl } from '../ports/control.ts';
import type { RunLog } from '../ports/log.ts';
import type { RunQueue } from '../ports/queue.ts';
import type { RefuseWebhook } from '../webhooks/run-webhook.ts';
import type { Worker } from '../worker/worker.ts';
import { refuseState, refuseTools } from './accept-request.ts';
import { agentInConfig, agentNamed, describeAgent, listAgents } from './agents.ts';
import { deleteThread } from './delete-thread.ts';
import type { EndWatch } from './end-watch.ts';
import { createFollow, createStartedRuns } from './follow.ts';
import { createReduceByWorker } from './reduce-by-worker.ts';
import { readPartial } from './partial.ts';
import { createAnswerQuestion } from './answer-question.ts';
import { createStart } from './start.ts';
import { createFinishStop, createRunAside } from './stop.ts';
import { createStateWriter } from './write-state.ts';

interface ExecutionOptions {
  readonly known: KnownAgents;
  readonly threads: Threads;
  readonly memory: Memory;
  readonly queue: RunQueue;
  readonly eventLog: RunLog;
  readonly control: RunControl;
  readonly codeCalls: Pick<CodeCalls, 'reduce'>;
  readonly log: Log;
  /** Absent where this replica accepts runs and drives none. */
  readonly worker: Worker | undefined;
  readonly endWatch: Pick<EndWatch, 'watch'>;
  readonly refuseWebhook: RefuseWebhook;
  /** The health of the process. */
  readonly health: Pick<Health, 'degraded'>;
  /** The open runs, as the sweeps of this replica find them, and the workers that it knows. */
  readonly counts: { readonly read: () => CountOpenRunsReply };
  /** Runs that may wait in the queue, of all agents and of one; while so many do, no more are accepted. */
  readonly backlog: { readonly all: number; readonly perAgent: number };
}

/** The execution service: one function for each RPC. */
export function createExecution(options: ExecutionOptions): Execution {
  const { known, threads, log } = options;
  const writeState = createStateWriter(threads, known, createReduceByWorker(options));
  const started = createStartedRuns();
  const runAside = createRunAside(log);
  const finishStop = createFinishStop({ ...options, runAside });
  const start = createStart({ ...options, started, finishStop, runAside });
  const { wait, follow } = createFollow({ ...options, started });

  return {
    start: async (request, call) => {
      try {
        return await start(request, call);
      } catch (error) {
        logThrown(log, error, request.threadId);
        throw error;
      }
    },

    answerQuestion: createAnswerQuestion({ threads, queue: options.queue, runAside }),
    wait,
    follow,

    stopRun: async ({ owner, runId, keepPartial, ...naming }, call) => {
      const partial = keepPartial === true ? await readPartial(options.eventLog, runId, call) : undefined;
      const end = { owner, runId, status: 'stopped', ...naming, ...(partial && { partial }) } as const;
      const { status, endedNow, nextRunId, kept, droppedQuestions } = await threads.endRun(end, call);
      if (endedNow) await runAside(finishStop({ owner, runId, nextRunId }, call));
      return {
        ...{ status, stoppedNow: endedNow },
        ...(kept && { partial: kept }),
        ...(droppedQuestions && { droppedQuestions }),
      };
    },

    checkTools: async (request) => {
      if (request.webhookJson !== undefined) options.refuseWebhook(request.webhookJson);
      const agent = await agentInConfig(known, request.agent);
      refuseTools(agent, request);
      refuseState(agent, request);
      return {};
    },

    getGraph: async ({ agent }) => (await agentNamed(known, agent)).graph,

    listAgents: async () => ({ agents: await listAgents(known) }),

    getAgent: async ({ agent: name }) => {
      const agent = await agentNamed(known, name);
      return { ...describeAgent(known, agent), graph: agent.graph };
    },

    countOpenRuns: () => Promise.resolve(options.counts.read()),

    getHealth: () => Promise.resolve({ degraded: options.health.degraded() }),

    updateState: async (request, call) =>
      writeState(request, call).catch((error: unknown) => {
        logThrown(log, error, request.threadId);
        throw error;
      }),

    deleteThread: async (request, call) => {
      try {
        await deleteThread(options, request, call);
      } finally {
        // Later calls ask the record, which no longer has the runs of the thread.
        started.clear();
      }
      return {};
    },
  };
}

/** A refusal with a cause comes from a reducer that threw. The log has the whole error, the caller only its message. */
function logThrown(log: Log, error: unknown, threadId: string | undefined): void {
  if (isServiceError(error, 'Invalid') && error.cause !== undefined)
    log.warn({ err: error.cause, threadId }, "a reducer threw on a caller's update of the state");
}
