import { keeping, type AgentOptions, type StopOptions } from './options.ts';
import { answerCalls, withTools, type RemoteTool } from './remote-tools.ts';
import type { Me } from './shapes/me.ts';
import { request, type Connection, type RequestOptions } from './request.ts';
import { keyOfRound } from './round-key.ts';
import { startAndFollow, type FollowOptions, type RunEvents } from './run-events.ts';
import type { JsonObject } from './shapes/json.ts';
import type { NewMessage, ToolDeclaration } from './shapes/messages.ts';
import type { RunResult } from './shapes/results.ts';
import type { RunRequest, StoppedThread } from './shapes/runs.ts';

export interface RunOptions extends RequestOptions {
  /** Tools that run here: their calls are answered, and the run goes on, until none of theirs is open. */
  readonly tools?: readonly RemoteTool[];
  /** Requests at most, the first and those that bring answers: 25 unless given. Calls that are open then leave the result `interrupted`. */
  readonly maxRounds?: number;
}

export interface StreamOptions extends RunOptions, Pick<FollowOptions, 'onConnection' | 'modes'> {}

export function graphOf(connection: Connection) {
  /** Runs the graph to its end, or to where it waits; calls of the tools given are answered on the way. */
  const invoke = async (body: RunRequest, options: RunOptions = {}): Promise<RunResult> => {
    const { tools = [], maxRounds = 25, signal, idempotencyKey } = options;
    const send = (next: RunRequest, key?: string): Promise<RunResult> =>
      request(
        connection,
        {
          method: 'POST',
          path: '/v1/graph/invoke',
          body: withTools(next, tools),
          signal,
          idempotencyKey: key,
          head: 'late',
        },
        isResult,
      );
    let result = await send(body, idempotencyKey);
    for (let round = 1; round < maxRounds; round++) {
      const answers = await answerCalls(result, { tools, signal });
      if (answers === undefined) return result;
      const key = idempotencyKey && keyOfRound(idempotencyKey, round);
      result = joined(result, await send(toNext(body, result, answers), key));
    }
    return result;
  };

  /** The events of a run, and of those that go on with it after the calls of the tools given. */
  async function* stream(body: RunRequest, options: StreamOptions = {}): RunEvents {
    const { tools = [], maxRounds = 25, signal, idempotencyKey, onConnection, modes } = options;
    let next = withTools(body, tools);
    let key = idempotencyKey;
    for (let round = 1; ; round++) {
      let result: RunResult | undefined;
      for await (const event of startAndFollow(connection, next, {
        signal,
        idempotencyKey: key,
        onConnection,
        modes,
      })) {
        if (event.event === 'on_chain_end') result = event.data as RunResult;
        yield event;
      }
      const answers = result && round < maxRounds ? await answerCalls(result, { tools, signal }) : undefined;
      if (result === undefined || answers === undefined) return;
      next = withTools(toNext(body, result, answers), tools);
      key = idempotencyKey && keyOfRound(idempotencyKey, round);
    }
  }

  return {
    invoke,
    stream,
    /** The structure of the graph. */
    graph: ({ agent, ...options }: AgentOptions = {}): Promise<JsonObject> =>
      request(connection, { method: 'GET', path: '/v1/graph', query: { agent }, ...options }),
    /** The fields of its state, with their types. */
    stateSchema: ({ agent, ...options }: AgentOptions = {}): Promise<JsonObject> =>
      request(connection, { method: 'GET', path: '/v1/graph:StateSchema', query: { agent }, ...options }),
    /** Declares tools of this caller for all its later runs. They must not have the names of the agent's own. */
    setUp: (tools: readonly ToolDeclaration[], { agent, ...options }: AgentOptions = {}): Promise<JsonObject> => {
      const body = { tools, ...(agent !== undefined && { config: { agent } }) };
      return request(connection, { method: 'POST', path: '/v1/graph/setup', body, ...options });
    },
    /** Stops the run of a thread. */
    stop: (threadId: string, { keepPartial, ...options }: StopOptions = {}): Promise<StoppedThread> =>
      request(connection, {
        method: 'POST',
        path: '/v1/graph/stop',
        ids: { threadId },
        body: { thread_id: threadId, ...keeping(keepPartial) },
        ...options,
      }),
    /** Who the caller is. */
    me: (options: RequestOptions = {}): Promise<Me> =>
      request(connection, { method: 'GET', path: '/v1/me', ...options }),
    ping: (options: RequestOptions = {}): Promise<string> =>
      request(connection, { method: 'GET', path: '/v1/ping', ...options }),
  };
}

/** Whether data have what `invoke` itself reads of a result. */
const isResult = ({ messages, all_messages, meta }: Partial<RunResult>): boolean =>
  Array.isArray(messages) && Array.isArray(all_messages) && typeof meta === 'object';

/** The request that goes on with a run after its tools: the same, on the same thread, with their results for messages. */
function toNext(
  { initial_state: _, resume: __, ...body }: RunRequest,
  { meta }: RunResult,
  answers: NewMessage,
): RunRequest {
  return { ...body, messages: [answers], config: { ...body.config, thread_id: meta.thread_id } };
}

/** The result of a run that went on with others, of all of them: each message is there, and the thread is as new as before the first. */
function joined(before: RunResult, last: RunResult): RunResult {
  // A run that waits for further calls repeats their message.
  const messages = new Map([...before.all_messages, ...last.all_messages].map((each) => [each.message_id, each]));
  return {
    ...last,
    all_messages: [...messages.values()],
    ...(before.all_messages_truncated && { all_messages_truncated: true }),
    meta: { ...last.meta, is_new_thread: before.meta.is_new_thread },
  };
}
