import { isServiceError, invalid, notFound, unavailable } from '@agent-workflow/kit/errors';
import type { Health } from '@agent-workflow/runtime/health';
import { idFrom } from '@agent-workflow/kit/ids';
import type { Log } from '@agent-workflow/kit/log';
import { sizes } from '@agent-workflow/kit/sizes';
import { toContextHeaders, requestContext, type RequestContext } from '@agent-workflow/kit/request-context';
import type { Call } from '@agent-workflow/protos/call';
import { bytesOfEvent } from '@agent-workflow/protos/event-parts';
import type { Execution, RunEvent, StartReply, StartRequest } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import { answeredCalls, type Message } from '@agent-workflow/protos/message';
import type { AcceptRunRequest, Threads } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { deleteThread } from './delete-thread.ts';
import type { EndWatch } from './end-watch.ts';
import { nodeNames, type CompiledGraph } from '@agent-workflow/graph/build/graph';
import { allFields } from '@agent-workflow/graph/state/merge';
import { refuseInitialState, splitInitialState } from './update-state.ts';
import { fromJson, toOptionsJson } from '../record/run-options.ts';
import { isOfRebuiltEnd } from '../ports/log-numbers.ts';
import type { RunControl, RunLog, RunnableRun, RunQueue } from '../ports/port.ts';
import { publishEnd } from '../events/publish-end.ts';
import type { Worker } from '../worker/worker.ts';
import { createStateWriter } from './write-state.ts';

export interface ExecutionOptions {
  /** Absent: no agent is configured, and there is nothing to run. */
  readonly graph: CompiledGraph | undefined;
  readonly threads: Threads;
  readonly memory: Memory;
  readonly queue: RunQueue;
  readonly log: RunLog;
  readonly control: RunControl;
  readonly logger: Log;
  /** Absent where this replica accepts runs and drives none. */
  readonly worker: Worker | undefined;
  readonly ends: Pick<EndWatch, 'watch'>;
  /** Of the process. */
  readonly health: Pick<Health, 'degraded'>;
  /** Runs that may wait in the queue; while so many do, no more are accepted. */
  readonly backlog: number;
}

/** The execution service. */
export function createExecution(options: ExecutionOptions): Execution {
  const { threads, queue, log, control, logger, worker, ends, backlog } = options;
  const writeState = createStateWriter(threads);
  // Whoever starts a run here mostly follows it here: the record need not be asked whose it is.
  const startedHere = new LRUCache<string, string>({ max: rememberedRuns });

  /**
   * Makes sure that a run can be followed to its end. Absent and foreign runs are the same: not found. One that has ended
   * on record, and whose log does not say so, is told from the record.
   */
  const prepareLog = async (owner: string, runId: string, call: Call): Promise<void> => {
    if (startedHere.get(runId) === owner && (worker?.drives(runId) === true || (await log.isEnded(runId)))) return;
    const run = await threads.getRun({ owner, runId }, call);
    if (!run.end || worker?.drives(runId) === true) return;
    // Whoever ended it is mostly about to say so.
    const tellsMs = run.updatedAt + tellingMs - Date.now();
    if (tellsMs > 0) await ended(log, runId, AbortSignal.any([call.signal, AbortSignal.timeout(tellsMs)]));
    await publishEnd(options, run);
  };

  /** What the record has decided stands, and is answered so, whatever becomes of this; the sweep and followers make it good. */
  const aside = async (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => {
      logger.warn({ err: error }, 'what follows from a write on record is left to the next sweep');
    });

  /**
   * Where to go on in a log for a follower that has seen events up to this number. A log that was rebuilt at the end of its
   * run, and then once more, may hold fewer events under the same numbers: a follower of the first is given all of the second.
   * Every other number beyond the end of a log is followed by what comes after it.
   */
  const placeIn = async (runId: string, after: number): Promise<number> => {
    if (!isOfRebuiltEnd(after) || !(await log.isEnded(runId))) return after;
    const last = await log.last(runId);
    return isOfRebuiltEnd(last) && last < after ? 0 : after;
  };

  /** After a stop on record: fires the signal, tells the followers, and lets the next run go on. */
  const settleStop = async (owner: string, runId: string, nextRunId: string | undefined, call: Call): Promise<void> => {
    control.stop(runId);
    const run = await threads.getRun({ owner, runId }, call);
    if (nextRunId !== undefined) void aside(queue.enqueue({ owner, threadId: run.threadId, runId: nextRunId }));
    await publishEnd(options, run);
  };

  /** A refusal with a cause is of a reducer that threw: its author reads the log, and the caller is told no more than what it said. */
  const logThrown = (error: unknown, threadId: string): void => {
    if (isServiceError(error, 'Invalid') && error.cause !== undefined)
      logger.warn({ err: error.cause, threadId }, 'a reducer threw on what a caller wrote');
  };

  const graphOf = (): CompiledGraph => {
    if (!options.graph) throw notFound('no agent is configured');
    return options.graph;
  };

  return {
    start: async (request, call) => {
      const graph = graphOf();
      refuseTakenNames(graph, request);
      if (queue.waiting() >= backlog)
        throw unavailable(`${String(backlog)} runs wait already, which is as many as may`);
      // Started again at another replica, the run means the same thread.
      const threadId = request.threadId ?? idFrom(request.runId, 'thread');
      const accept = toAccept(graph, request, threadId);
      let slot = worker?.reserve({ owner: request.owner, threadId, runId: request.runId });
      try {
        const reply = await threads.acceptRun({ ...accept, ...(slot ? { claim: slot.intent } : {}) }, call);
        if (slot && reply.claimed) {
          slot.run(reply.claimed);
          slot = undefined;
        }
        if (reply.runnable) void aside(queue.enqueue(toRunnable(request.owner, reply)));
        startedHere.set(reply.runId, request.owner);
        if (reply.stoppedRunId !== undefined) {
          worker?.forget(request.owner, reply.threadId);
          await aside(settleStop(request.owner, reply.stoppedRunId, undefined, call));
        }
        return { runId: reply.runId, threadId: reply.threadId, isNewThread: reply.isNewThread, status: reply.status };
      } finally {
        slot?.release();
      }
    },

    wait: async ({ runId, owner, justStarted }, call) => {
      if (justStarted !== true) await prepareLog(owner, runId, call);
      const leave = ends.watch(owner, runId);
      try {
        return await log.end(runId, call.signal);
      } finally {
        leave();
      }
    },

    async *follow({ owner, runId, after, justStarted }, call) {
      if (justStarted !== true) await prepareLog(owner, runId, call);
      const leave = ends.watch(owner, runId);
      try {
        let isFirst = true;
        for await (const { scope, events } of log.follow(runId, await placeIn(runId, after), call.signal)) {
          for (const part of inParts(events)) {
            yield isFirst ? { events: part, scope } : { events: part };
            isFirst = false;
          }
        }
      } finally {
        leave();
      }
    },

    stopRun: async ({ owner, runId, ...naming }, call) => {
      const end = { owner, runId, status: 'stopped', ...naming } as const;
      const { status, endedNow, nextRunId } = await threads.endRun(end, call);
      if (endedNow) await aside(settleStop(owner, runId, nextRunId, call));
      return { status, stoppedNow: endedNow };
    },

    checkTools: (request) => {
      refuseTakenNames(graphOf(), request);
      return Promise.resolve({});
    },

    getGraph: () => {
      const { drawing, fields } = graphOf();
      return Promise.resolve({ graphJson: toJson(drawing), fieldsJson: toJson(describe(fields)) });
    },

    getHealth: () => Promise.resolve({ degraded: options.health.degraded() }),

    updateState: async (request, call) =>
      writeState(graphOf(), request, call).catch((error: unknown) => {
        logThrown(error, request.threadId);
        throw error;
      }),

    deleteThread: async (request, call) => {
      try {
        await deleteThread(options, request, call);
      } finally {
        // From here on the record is asked, and says that the thread's runs are gone with it.
        startedHere.clear();
      }
      return {};
    },
  };
}

const rememberedRuns = 10_000;

/** So long after a run's end on record its worker is left to tell it, in milliseconds. */
const tellingMs = 500;

/** Resolves with the end of a run's log, or when the signal fires. */
const ended = async (log: RunLog, runId: string, signal: AbortSignal): Promise<void> =>
  log.end(runId, signal).then(
    () => undefined,
    () => undefined,
  );

/** What one reply of a stream may hold before the next begins: that much waits for a reader that stands still, several times over. */
const partBytes = 256 * 1024;

/** A batch in parts that a wire lets through; a heavier event is a part of its own. */
function* inParts(batch: readonly RunEvent[]): Generator<readonly RunEvent[]> {
  let start = 0;
  let bytes = 0;
  for (const [index, event] of batch.entries()) {
    const size = bytesOfEvent(event);
    if (index > start && bytes + size > partBytes) {
      yield batch.slice(start, index);
      start = index;
      bytes = 0;
    }
    bytes += size;
  }
  yield start === 0 ? batch : batch.slice(start);
}

function refuseTakenNames(graph: CompiledGraph, { tools }: Pick<StartRequest, 'tools'>): void {
  for (const [index, { name, nodeName }] of tools.entries()) {
    if (graph.tools.some((tool) => tool.name === name)) {
      throw invalid(['tools', index, 'name'], `"${name}" is a tool of the server`, 'tool_name');
    }
    if (nodeName !== '' && !graph.nodes.has(nodeName)) {
      throw invalid(['tools', index, 'nodeName'], `the graph has no node "${nodeName}"`, 'node_name');
    }
    if (tools.findIndex((other) => other.name === name) !== index) {
      throw invalid(['tools', index, 'name'], `"${name}" is declared twice`, 'tool_name');
    }
  }
}

function toAccept(graph: CompiledGraph, request: StartRequest, threadId: string): AcceptRunRequest {
  refuseLarge(request);
  const initialState = objectOf(request.initialStateJson);
  const { fields, messages: context } = splitInitialState(initialState);
  refuseInitialState(graph, fields);
  const resume = request.resumeJson && fromJson(request.resumeJson);
  const messages = request.messages.map(({ json }) => fromJson(json) as Message);
  return {
    owner: request.owner,
    threadId,
    runId: request.runId,
    requestId: request.requestId,
    ...(request.threadName === undefined ? {} : { threadName: request.threadName }),
    ...(request.threadMetadataJson === undefined ? {} : { metadataJson: request.threadMetadataJson }),
    // Those of the initial state come first: they are what the request's own go on from.
    messages: context.length === 0 ? request.messages : [...context, ...request.messages],
    answers: messages.filter(({ role }) => role === 'tool').flatMap(answeredCalls),
    hasNewInput: messages.some(({ role }) => role !== 'tool'),
    optionsJson: toOptionsJson(request, {
      accepted: { at: Date.now(), ...traceOfRequest() },
      // Its messages become the thread's own. Where it names none the JSON of the request is kept as it is.
      ...('context' in initialState && { initialState: fields }),
    }),
    multitaskStrategy: request.multitaskStrategy,
    ...(request.resumeJson ? { resume: { keys: keysOf(resume) } } : {}),
    granularity: request.granularity,
    nodes: nodeNames(graph),
    runIdIsNew: request.runIdIsNew === true,
    threadIdIsNew: request.threadId === undefined || request.threadIdIsNew === true,
  };
}

const toRunnable = (owner: string, { threadId, runId }: Pick<StartReply, 'threadId' | 'runId'>): RunnableRun => ({
  owner,
  threadId,
  runId,
  trace: toContextHeaders({ requestId: requestContext().requestId, ...traceOfRequest() }),
});

/** Which trace a run goes on in, whoever drives it. */
function traceOfRequest(): Pick<RequestContext, 'traceparent' | 'tracestate'> {
  const { traceparent, tracestate } = requestContext();
  return { ...(traceparent !== undefined && { traceparent }), ...(tracestate !== undefined && { tracestate }) };
}

/** The keys of an answer that is an object: ids of questions, if they are open. */
const keysOf = (resume: unknown): string[] =>
  typeof resume === 'object' && resume !== null && !Array.isArray(resume) ? Object.keys(resume) : [];

/** What a run is started with, apart from its messages, which the record bounds. */
function refuseLarge({ initialStateJson, configJson, userJson, resumeJson, tools }: StartRequest): void {
  const toolsBytes = tools.reduce((sum, tool) => sum + bytesOfTool(tool), 0);
  const bounds: readonly (readonly [at: readonly string[], bytes: number, bound: number])[] = [
    [['initialState'], initialStateJson?.byteLength ?? 0, sizes.state],
    [['config'], configJson?.byteLength ?? 0, sizes.config],
    [['user'], userJson?.byteLength ?? 0, sizes.metadata],
    [['tools'], toolsBytes, sizes.toolsTogether],
    [['resume'], resumeJson?.byteLength ?? 0, sizes.resume],
  ];
  for (const [at, bytes, bound] of bounds) {
    if (bytes <= bound) continue;
    throw invalid(at, `has ${String(bytes)} bytes, more than ${String(bound)}`, 'too_large');
  }
}

const bytesOfTool = ({ name, nodeName, description, parametersJson }: StartRequest['tools'][number]): number =>
  Buffer.byteLength(name) + Buffer.byteLength(nodeName) + Buffer.byteLength(description) + parametersJson.byteLength;

const objectOf = (json: Uint8Array | undefined): Readonly<Record<string, unknown>> =>
  json ? (fromJson(json) as Readonly<Record<string, unknown>>) : {};

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const describe = (fields: CompiledGraph['fields']): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(allFields(fields)).map(([name, { type, description, default: fallback, required }]) => [
      name,
      { type, description, default: fallback, required },
    ]),
  );
