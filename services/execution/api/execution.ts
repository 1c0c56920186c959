import { isServiceError, notFound } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import type { Health } from '@agent-workflow/runtime/health';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { allFields } from '@agent-workflow/graph/state/merge';
import type { RunControl } from '../ports/control.ts';
import type { RunLog } from '../ports/log.ts';
import type { RunQueue } from '../ports/queue.ts';
import type { Worker } from '../worker/worker.ts';
import { refuseTools } from './accept-request.ts';
import { deleteThread } from './delete-thread.ts';
import type { EndWatch } from './end-watch.ts';
import { createFollow, createStartedRuns } from './follow.ts';
import { createStart } from './start.ts';
import { createFinishStop, createRunAside } from './stop.ts';
import { createStateWriter } from './write-state.ts';

interface ExecutionOptions {
  /** Absent: no agent is configured, and there is nothing to run. */
  readonly graph: CompiledGraph | undefined;
  readonly threads: Threads;
  readonly memory: Memory;
  readonly queue: RunQueue;
  readonly eventLog: RunLog;
  readonly control: RunControl;
  readonly log: Log;
  /** Absent where this replica accepts runs and drives none. */
  readonly worker: Worker | undefined;
  readonly endWatch: Pick<EndWatch, 'watch'>;
  /** The health of the process. */
  readonly health: Pick<Health, 'degraded'>;
  /** Runs that may wait in the queue; while so many do, no more are accepted. */
  readonly backlog: number;
}

/** The execution service: one function for each RPC. */
export function createExecution(options: ExecutionOptions): Execution {
  const { threads, log } = options;
  const writeState = createStateWriter(threads);
  const started = createStartedRuns();
  const runAside = createRunAside(log);
  const finishStop = createFinishStop({ ...options, runAside });
  const { wait, follow } = createFollow({ ...options, started });

  const graphOf = (): CompiledGraph => {
    if (!options.graph) throw notFound('no agent is configured');
    return options.graph;
  };

  return {
    start: createStart({ ...options, graphOf, started, finishStop, runAside }),
    wait,
    follow,

    stopRun: async ({ owner, runId, ...naming }, call) => {
      const end = { owner, runId, status: 'stopped', ...naming } as const;
      const { status, endedNow, nextRunId } = await threads.endRun(end, call);
      if (endedNow) await runAside(finishStop({ owner, runId, nextRunId }, call));
      return { status, stoppedNow: endedNow };
    },

    checkTools: (request) => {
      refuseTools(graphOf(), request);
      return Promise.resolve({});
    },

    getGraph: () => {
      const { drawing, fields } = graphOf();
      return Promise.resolve({ graphJson: toJson(drawing), fieldsJson: toJson(describe(fields)) });
    },

    getHealth: () => Promise.resolve({ degraded: options.health.degraded() }),

    updateState: async (request, call) =>
      writeState(graphOf(), request, call).catch((error: unknown) => {
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
function logThrown(log: Log, error: unknown, threadId: string): void {
  if (isServiceError(error, 'Invalid') && error.cause !== undefined)
    log.warn({ err: error.cause, threadId }, "a reducer threw on a caller's update of the state");
}

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const describe = (fields: CompiledGraph['fields']): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(allFields(fields)).map(([name, { type, description, default: fallback, required }]) => [
      name,
      { type, description, default: fallback, required },
    ]),
  );
