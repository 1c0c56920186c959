import { answerCalls, withTools, type RemoteTool } from './remote-tools.ts';
import { isPage, toForeign } from './errors.ts';
import { readFile, request, send, type Connection, type RequestOptions } from './request.ts';
import { keyOfRound } from './round-key.ts';
import { follow, startAndFollow, type FollowOptions, type RunEvents } from './run-events.ts';
import type {
  Agent,
  AgentItem,
  AgentRegistration,
  Assistant,
  AssistantChange,
  AssistantsQuery,
  AssistantVersion,
  BatchRun,
  Checkpoint,
  DeliveriesQuery,
  Delivery,
  FileInfo,
  FileUrl,
  FiredSlots,
  Forgotten,
  JsonObject,
  Memory,
  MemoryQuery,
  MemorySelection,
  MultimodalConfig,
  Message,
  MessagesQuery,
  NewAssistant,
  NewMemory,
  NewMessage,
  NewRouting,
  NewTrigger,
  NewRun,
  NewSchedule,
  NewWebhook,
  Page,
  Paged,
  PastState,
  PastStep,
  Run,
  RunRequest,
  RunResult,
  RunsQuery,
  Schedule,
  ScheduleChange,
  ScheduleItem,
  StateWriting,
  Step,
  FoundThreads,
  Inbox,
  InboxQuery,
  StoppedRun,
  StoppedThread,
  Thread,
  ThreadChange,
  ThreadCount,
  ThreadFilter,
  ThreadSearch,
  ThreadState,
  ToolDeclaration,
  Trigger,
  TriggerChange,
  TriggerWithSecret,
  UploadedFile,
  Webhook,
  WebhookChange,
  WebhookSecret,
} from './shapes.ts';

export interface ClientOptions {
  /** The gateway's address: `https://agents.example.com`. */
  readonly url: string;
  /** Sent as a bearer token; a function is asked before each request. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the global one. */
  readonly fetch?: typeof fetch;
  /** How often a request is made at most that the service could not take, the first time included. Given alone, it is the only bound; without it there is a time alone, and 5 times at least. */
  readonly maxAttempts?: number;
  /** For how long after its first failure a request that did not reach the service, or a stream that was cut, is tried again, in milliseconds: 15,000 unless given. */
  readonly retryMs?: number;
  /** For how long a connection may bring nothing, in milliseconds: 60,000 unless given. It is then lost. A stream without events has comments. */
  readonly silenceMs?: number;
}

interface RunOptions extends RequestOptions {
  /** Tools that run here: their calls are answered, and the run goes on, until none of theirs is open. */
  readonly tools?: readonly RemoteTool[];
  /** Requests at most, the first and those that bring answers: 25 unless given. Calls that are open then leave the result `interrupted`. */
  readonly maxRounds?: number;
}

interface StreamOptions extends RunOptions, Pick<FollowOptions, 'onConnection'> {}

interface AgentOptions extends RequestOptions {
  /** The agent, where the service has several: the default unless given. */
  readonly agent?: string | undefined;
}

/**
 * Speaks `/v1`. Every method throws a `RequestError` when the service refuses or cannot be reached, and, before anything is sent, a
 * `TypeError` for an id that is no text and a `RangeError` for one that is empty, `.` or `..`.
 */
export type Client = ReturnType<typeof createClient>;

/**
 * Makes a client. Nothing is sent until it is used.
 * @throws TypeError for a `url` that is no whole address, or none, or has a user or a password; RangeError for a `retryMs` or a
 * `silenceMs` that is no time, and for a `maxAttempts` below 1.
 */
export function createClient(clientOptions: ClientOptions) {
  // A caller without types may leave out the options, and so the address.
  const { url, token, headers = {}, ...options } = Object(clientOptions) as ClientOptions;
  refuseUnfitUrl(url);
  const { maxAttempts, retryMs, silenceMs = defaultSilenceMs } = options;
  if (maxAttempts !== undefined && !(typeof maxAttempts === 'number' && maxAttempts >= 1))
    throw new RangeError(`maxAttempts must be a number from 1 on, and is ${String(maxAttempts)}`);
  if (retryMs !== undefined && !(typeof retryMs === 'number' && retryMs >= 0))
    throw new RangeError(`retryMs must be a number of milliseconds from 0 on, and is ${String(retryMs)}`);
  if (!(typeof silenceMs === 'number' && silenceMs > 0))
    throw new RangeError(`silenceMs must be a number of milliseconds above 0, and is ${String(silenceMs)}`);
  const connection: Connection = {
    url: url.endsWith('/') ? url.slice(0, -1) : url,
    fetch: options.fetch ?? ((...given) => fetch(...given)),
    ...{ maxAttempts, retryMs, silenceMs },
    headers: async () => {
      const shown = typeof token === 'function' ? await token() : token;
      return { ...headers, ...(shown !== undefined && { authorization: `Bearer ${shown}` }) };
    },
  };
  return {
    ...graphOf(connection),
    agents: agentsOf(connection),
    assistants: assistantsOf(connection),
    runs: runsOf(connection),
    schedules: schedulesOf(connection),
    threads: threadsOf(connection),
    triggers: triggersOf(connection),
    webhooks: webhooksOf(connection),
    deliveries: deliveriesOf(connection),
    memories: memoriesOf(connection),
    files: filesOf(connection),
  };
}

/** Four times the pause after which the service sends a comment. */
const defaultSilenceMs = 60_000;

const noUrl = { protocol: '', username: '', password: '', search: '', hash: '' };

/** The value is not shown: it may hold a password. */
function refuseUnfitUrl(url: unknown): void {
  const address = typeof url === 'string' ? url : '';
  const { protocol, username, password, search, hash } = URL.canParse(address) ? new URL(address) : noUrl;
  if (!/^https?:$/.test(protocol) || address.trim() !== address || search !== '' || hash !== '')
    throw new TypeError('url must be the address of a gateway, as https://agents.example.com, without a query');
  if (username !== '' || password !== '')
    throw new TypeError('url must have no user and no password: give a token, or headers');
}

function graphOf(connection: Connection) {
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
    const { tools = [], maxRounds = 25, signal, idempotencyKey, onConnection } = options;
    let next = withTools(body, tools);
    let key = idempotencyKey;
    for (let round = 1; ; round++) {
      let result: RunResult | undefined;
      for await (const event of startAndFollow(connection, next, { signal, idempotencyKey: key, onConnection })) {
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
    ping: (options: RequestOptions = {}): Promise<string> =>
      request(connection, { method: 'GET', path: '/v1/ping', ...options }),
  };
}

interface StopOptions extends RequestOptions {
  /** Whether what the step under way has streamed stays, as messages with `metadata.partial`. */
  readonly keepPartial?: boolean | undefined;
}

const keeping = (isKept: boolean | undefined): object => (isKept === undefined ? {} : { keep_partial: isKept });

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

function agentsOf(connection: Connection) {
  return {
    /** The agents of the service, the default first, the others by name. */
    list: (options: RequestOptions = {}): Promise<{ readonly agents: readonly AgentItem[] }> =>
      request(connection, { method: 'GET', path: '/v1/agents', ...options }),
    /** An agent with its tools, its graph and the fields of its state. */
    get: (name: string, options: RequestOptions = {}): Promise<Agent> =>
      request(connection, { method: 'GET', path: '/v1/agents/{name}', ids: { name }, ...options }),
    /** Says which registered revisions serve new runs, from the version of the routing that was read. */
    route: (name: string, routing: NewRouting, options: RequestOptions = {}): Promise<AgentRegistration> => {
      const path = '/v1/agents/{name}/routing';
      return request(connection, { method: 'PUT', path, ids: { name }, body: routing, ...options });
    },
    /** Takes a revision out of use for good. */
    retire: (name: string, revision: string, options: RequestOptions = {}): Promise<AgentRegistration> => {
      const path = '/v1/agents/{name}/revisions/{revision}/retire';
      return request(connection, { method: 'POST', path, ids: { name, revision }, ...options });
    },
  };
}

function assistantsOf(connection: Connection) {
  const at = (assistantId: string, rest = '') => ({
    path: `/v1/assistants/{assistantId}${rest}`,
    ids: { assistantId },
  });
  return {
    create: (body: NewAssistant = {}, options: RequestOptions = {}): Promise<Assistant> =>
      request(connection, { method: 'POST', path: '/v1/assistants', body, ...options }),
    /** By id, descending. A page may have fewer than `limit`, or none, and still a `cursor`. */
    list: (
      query: AssistantsQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly assistants: readonly Assistant[] }> =>
      request(connection, { method: 'GET', path: '/v1/assistants', query, ...options }),
    get: (assistantId: string, options: RequestOptions = {}): Promise<Assistant> =>
      request(connection, { method: 'GET', ...at(assistantId), ...options }),
    /** Makes a version with the fields given; `version` is the one that was read, where the change depends on it. */
    update: (assistantId: string, body: AssistantChange, options: RequestOptions = {}): Promise<Assistant> =>
      request(connection, { method: 'PATCH', ...at(assistantId), body, ...options }),
    /** The versions that are kept, the newest first. */
    versions: (
      assistantId: string,
      query: { readonly limit?: number; readonly cursor?: string } = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly versions: readonly AssistantVersion[] }> =>
      request(connection, { method: 'GET', ...at(assistantId, '/versions'), query, ...options }),
    version: (assistantId: string, version: number, options: RequestOptions = {}): Promise<AssistantVersion> => {
      const path = '/v1/assistants/{assistantId}/versions/{version}';
      return request(connection, { method: 'GET', path, ids: { assistantId, version: String(version) }, ...options });
    },
    /** Lets later runs have a version that is kept. */
    setVersion: (assistantId: string, version: number, options: RequestOptions = {}): Promise<Assistant> =>
      request(connection, { method: 'PUT', ...at(assistantId, '/version'), body: { version }, ...options }),
    delete: (assistantId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(assistantId), ...options }),
  };
}

function runsOf(connection: Connection) {
  const at = (runId: string, rest = '') => ({ path: `/v1/runs/{runId}${rest}`, ids: { runId } });
  return {
    /** Accepts a run, which goes on by itself, or starts at its time. */
    start: (body: NewRun, options: RequestOptions = {}): Promise<Run> =>
      request(connection, { method: 'POST', path: '/v1/runs', body, ...options }),
    /** Accepts up to 100 runs of one agent. A run that is refused says why in its place. */
    startAll: (
      runs: readonly RunRequest[],
      { agent, ...options }: AgentOptions = {},
    ): Promise<{ readonly runs: readonly BatchRun[] }> =>
      request(connection, {
        method: 'POST',
        path: '/v1/runs/batch',
        body: { runs, ...(agent !== undefined && { config: { agent } }) },
        ...options,
      }),
    get: (runId: string, options: RequestOptions = {}): Promise<Run> =>
      request(connection, { method: 'GET', ...at(runId), ...options }),
    /** The runs of all threads, newest first, of any status where `status` names none (it is one, or a list), and of any agent unless one is given. A page may have fewer runs than `limit`, or none, and still a `cursor`: go on with it. */
    list: (
      { status, ...query }: RunsQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly runs: readonly Run[] }> =>
      request(connection, {
        method: 'GET',
        path: '/v1/runs',
        query: { ...query, status: [status ?? []].flat().join(',') || undefined },
        ...options,
      }),
    /** The result, once the run has ended. */
    wait: (runId: string, options: RequestOptions = {}): Promise<RunResult> =>
      request(connection, { method: 'GET', ...at(runId, '/wait'), ...options, head: 'late' }),
    /** What its steps changed, from the record: those after step `after`, or the first ones. */
    steps: (
      runId: string,
      query: { readonly limit?: number; readonly after?: number } = {},
      options: RequestOptions = {},
    ): Promise<{ readonly thread_id: string; readonly steps: readonly Step[]; readonly has_more: boolean }> =>
      request(connection, { method: 'GET', ...at(runId, '/steps'), query, ...options }),
    /** One of its steps with the state after it; 404 for one that is no longer kept. */
    step: (runId: string, step: number, options: RequestOptions = {}): Promise<PastStep> =>
      request(connection, {
        method: 'GET',
        path: '/v1/runs/{runId}/steps/{step}',
        ids: { runId, step: String(step) },
        ...options,
      }),
    /** Its events after the one of this id, whether it runs or has ended. */
    follow: (runId: string, options: FollowOptions = {}): RunEvents => follow(connection, runId, options),
    cancel: (runId: string, { keepPartial, ...options }: StopOptions = {}): Promise<StoppedRun> =>
      request(connection, { method: 'POST', ...at(runId, '/cancel'), body: keeping(keepPartial), ...options }),
    /** Makes a run that begins with the step in which this one failed. */
    retry: (runId: string, options: RequestOptions = {}): Promise<Run> =>
      request(connection, { method: 'POST', ...at(runId, '/retry'), ...options }),
  };
}

function triggersOf(connection: Connection) {
  const at = (triggerId: string, rest = '') => ({ path: `/v1/triggers/{triggerId}${rest}`, ids: { triggerId } });
  return {
    /** Makes an address whose signed events start runs. The secret is in this reply alone. */
    create: (body: NewTrigger, options: RequestOptions = {}): Promise<TriggerWithSecret> =>
      request(connection, { method: 'POST', path: '/v1/triggers', body, ...options }),
    list: (
      query: { readonly limit?: number; readonly cursor?: string } = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly triggers: readonly Trigger[] }> =>
      request(connection, { method: 'GET', path: '/v1/triggers', query, ...options }),
    get: (triggerId: string, options: RequestOptions = {}): Promise<Trigger> =>
      request(connection, { method: 'GET', ...at(triggerId), ...options }),
    update: (triggerId: string, body: TriggerChange, options: RequestOptions = {}): Promise<Trigger> =>
      request(connection, { method: 'PATCH', ...at(triggerId), body, ...options }),
    /** Gives it a new secret, which is in this reply alone; the one before counts for a day unless `overlap_seconds` is given. */
    rotate: (
      triggerId: string,
      body: { readonly secret?: string; readonly overlap_seconds?: number } = {},
      options: RequestOptions = {},
    ): Promise<TriggerWithSecret> =>
      request(connection, { method: 'POST', ...at(triggerId, '/secret'), body, ...options }),
    delete: (triggerId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(triggerId), ...options }),
  };
}

function schedulesOf(connection: Connection) {
  const at = (scheduleId: string, rest = '') => ({ path: `/v1/schedules/{scheduleId}${rest}`, ids: { scheduleId } });
  return {
    create: (body: NewSchedule, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'POST', path: '/v1/schedules', body, ...options }),
    /** The newest first. */
    list: (
      query: Pick<Page, 'limit' | 'cursor'> = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly schedules: readonly ScheduleItem[] }> =>
      request(connection, { method: 'GET', path: '/v1/schedules', query, ...options }),
    /** With its next ten times and what became of its last twenty slots. */
    get: (scheduleId: string, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'GET', ...at(scheduleId), ...options }),
    update: (scheduleId: string, body: ScheduleChange, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'PATCH', ...at(scheduleId), body, ...options }),
    delete: (scheduleId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(scheduleId), ...options }),
    pause: (scheduleId: string, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'POST', ...at(scheduleId, '/pause'), ...options }),
    resume: (scheduleId: string, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'POST', ...at(scheduleId, '/resume'), ...options }),
    /** Starts a run within moments. */
    run: (scheduleId: string, options: RequestOptions = {}): Promise<FiredSlots> =>
      request(connection, { method: 'POST', ...at(scheduleId, '/run'), ...options }),
    /** Starts a run for each slot of a past time, at most 100. */
    backfill: (
      scheduleId: string,
      body: { readonly from: string | number; readonly to: string | number },
      options: RequestOptions = {},
    ): Promise<FiredSlots> => request(connection, { method: 'POST', ...at(scheduleId, '/backfill'), body, ...options }),
  };
}

function threadsOf(connection: Connection) {
  const at = (threadId: string, rest = '') => ({ path: `/v1/threads/{threadId}${rest}`, ids: { threadId } });
  type Config = RequestOptions & { readonly config?: JsonObject };
  return {
    list: (query: Page = {}, options: RequestOptions = {}): Promise<Paged & { readonly threads: readonly Thread[] }> =>
      request(connection, { method: 'GET', path: '/v1/threads', query, ...options }),
    get: (threadId: string, options: RequestOptions = {}): Promise<Thread> =>
      request(connection, { method: 'GET', ...at(threadId), ...options }),
    /** Sets the name and keys of the metadata; `null` removes. What is absent stays. */
    update: (threadId: string, change: ThreadChange, options: RequestOptions = {}): Promise<Thread> =>
      request(connection, { method: 'PATCH', ...at(threadId), body: change, ...options }),
    /** Those of the 10,000 most recent threads that pass every filter. */
    search: (query: ThreadSearch = {}, options: RequestOptions = {}): Promise<FoundThreads> =>
      request(connection, { method: 'POST', path: '/v1/threads/search', body: query, ...options }),
    count: (filter: ThreadFilter = {}, options: RequestOptions = {}): Promise<ThreadCount> =>
      request(connection, { method: 'POST', path: '/v1/threads/count', body: filter, ...options }),
    /** What waits for a person, with its questions. */
    inbox: (query: InboxQuery = {}, options: RequestOptions = {}): Promise<Inbox> =>
      request(connection, { method: 'GET', path: '/v1/inbox', query, ...options }),
    delete: (threadId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(threadId), ...options }),
    state: (threadId: string, options: RequestOptions = {}): Promise<ThreadState> =>
      request(connection, { method: 'GET', ...at(threadId, '/state'), ...options }),
    /** Writes fields of the state, each through its reducer unless `mode` is `replace`. @returns the whole state. */
    writeState: (
      threadId: string,
      state: JsonObject,
      { config = {}, mode, checkpoint_id: checkpointId, ...options }: Config & StateWriting = {},
    ): Promise<ThreadState> => {
      const body = { config, state, ...(mode && { mode }), ...(checkpointId && { checkpoint_id: checkpointId }) };
      return request(connection, { method: 'POST', ...at(threadId, '/state'), body, ...options });
    },
    clearState: (threadId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(threadId, '/state'), ...options }),
    messages: (
      threadId: string,
      query: MessagesQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly messages: readonly Message[] }> =>
      request(connection, { method: 'GET', ...at(threadId, '/messages'), query, ...options }),
    message: (
      threadId: string,
      messageId: string,
      options: RequestOptions = {},
    ): Promise<{ readonly message: Message }> =>
      request(connection, {
        method: 'GET',
        path: '/v1/threads/{threadId}/messages/{messageId}',
        ids: { threadId, messageId },
        ...options,
      }),
    addMessages: (
      threadId: string,
      messages: readonly NewMessage[],
      { config = {}, ...options }: Config = {},
    ): Promise<{ readonly messages: readonly Message[] }> =>
      request(connection, {
        method: 'POST',
        ...at(threadId, '/messages'),
        body: { messages, config },
        ...options,
      }),
    deleteMessage: (
      threadId: string,
      messageId: string,
      options: RequestOptions = {},
    ): Promise<{ readonly success: boolean }> =>
      request(connection, {
        method: 'DELETE',
        path: '/v1/threads/{threadId}/messages/{messageId}',
        ids: { threadId, messageId },
        ...options,
      }),
    runs: (
      threadId: string,
      query: Page = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly runs: readonly Run[] }> =>
      request(connection, { method: 'GET', ...at(threadId, '/runs'), query, ...options }),
    checkpoints: (
      threadId: string,
      query: Omit<Page, 'search'> = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly checkpoints: readonly Checkpoint[] }> =>
      request(connection, { method: 'GET', ...at(threadId, '/checkpoints'), query, ...options }),
    /** A checkpoint with the state at that point; 404 for one that is no longer kept. */
    checkpoint: (threadId: string, checkpointId: string, options: RequestOptions = {}): Promise<PastState> =>
      request(connection, {
        method: 'GET',
        path: '/v1/threads/{threadId}/checkpoints/{checkpointId}',
        ids: { threadId, checkpointId },
        ...options,
      }),
    /** The thread as it was at a checkpoint, as a new version: the next run goes on from there. */
    restore: (threadId: string, checkpointId: string, options: RequestOptions = {}): Promise<Thread> =>
      request(connection, {
        method: 'POST',
        ...at(threadId, '/restore'),
        body: { checkpoint_id: checkpointId },
        ...options,
      }),
    /** A new thread that begins where a checkpoint of this one stands; `config` has its `thread_name` and `metadata`. */
    fork: (threadId: string, checkpointId: string, { config, ...options }: Config = {}): Promise<Thread> =>
      request(connection, {
        method: 'POST',
        path: '/v1/threads/{threadId}/fork',
        ids: { threadId, checkpointId },
        body: { checkpoint_id: checkpointId, config },
        ...options,
      }),
  };
}

function webhooksOf(connection: Connection) {
  const at = (webhookId: string, rest = '') => ({ path: `/v1/webhooks/{webhookId}${rest}`, ids: { webhookId } });
  return {
    create: (body: NewWebhook, options: RequestOptions = {}): Promise<Webhook> =>
      request(connection, { method: 'POST', path: '/v1/webhooks', body, ...options }),
    list: (options: RequestOptions = {}): Promise<{ readonly webhooks: readonly Webhook[] }> =>
      request(connection, { method: 'GET', path: '/v1/webhooks', ...options }),
    get: (webhookId: string, options: RequestOptions = {}): Promise<Webhook> =>
      request(connection, { method: 'GET', ...at(webhookId), ...options }),
    /** Changes what is given. */
    update: (webhookId: string, body: WebhookChange, options: RequestOptions = {}): Promise<Webhook> =>
      request(connection, { method: 'PATCH', ...at(webhookId), body, ...options }),
    delete: (webhookId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(webhookId), ...options }),
    secret: (webhookId: string, options: RequestOptions = {}): Promise<WebhookSecret> =>
      request(connection, { method: 'GET', ...at(webhookId, '/secret'), ...options }),
    /** Makes a new secret; for a day the old one signs beside it. */
    rotate: (webhookId: string, options: RequestOptions = {}): Promise<Webhook> =>
      request(connection, { method: 'POST', ...at(webhookId, '/rotate'), ...options }),
    /** Sends an event of the kind `webhook.test`. */
    test: (webhookId: string, options: RequestOptions = {}): Promise<{ readonly delivery_id: string }> =>
      request(connection, { method: 'POST', ...at(webhookId, '/test'), ...options }),
  };
}

function deliveriesOf(connection: Connection) {
  const at = (deliveryId: string, rest = '') => ({ path: `/v1/deliveries/{deliveryId}${rest}`, ids: { deliveryId } });
  return {
    /** What waits, or with `state: 'dead'` what was given up, the newest first. */
    list: (
      query: DeliveriesQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly deliveries: readonly Delivery[] }> =>
      request(connection, { method: 'GET', path: '/v1/deliveries', query, ...options }),
    /** Sends it now, and for three days more where that fails. */
    resend: (deliveryId: string, options: RequestOptions = {}): Promise<{ readonly delivery_id: string }> =>
      request(connection, { method: 'POST', ...at(deliveryId, '/resend'), ...options }),
    delete: (deliveryId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(deliveryId), ...options }),
  };
}

function memoriesOf(connection: Connection) {
  const root = '/v1/store/memories';
  const at = (memoryId: string) => ({ path: `${root}/{memoryId}`, ids: { memoryId } });
  return {
    store: (memory: NewMemory, options: RequestOptions = {}): Promise<{ readonly memory_id: string }> =>
      request(connection, { method: 'POST', path: root, body: memory, ...options }),
    search: (query: MemoryQuery, options: RequestOptions = {}): Promise<{ readonly results: readonly Memory[] }> =>
      request(connection, { method: 'POST', path: '/v1/store/search', body: query, ...options }),
    list: (
      query: Omit<Page, 'search'> & MemorySelection = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly memories: readonly Memory[]; readonly total: number }> =>
      request(connection, { method: 'GET', path: root, query, ...options }),
    get: (memoryId: string, options: RequestOptions = {}): Promise<{ readonly memory: Memory }> =>
      request(connection, { method: 'GET', ...at(memoryId), ...options }),
    update: (
      memoryId: string,
      change: Pick<NewMemory, 'content' | 'metadata' | 'timestamp' | 'expires_at'>,
      options: RequestOptions = {},
    ): Promise<{ readonly memory: Memory }> =>
      request(connection, { method: 'PUT', ...at(memoryId), body: change, ...options }),
    delete: (memoryId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(memoryId), ...options }),
    /** Forgets what the selection names, for good. */
    forget: (selection: MemorySelection, options: RequestOptions = {}): Promise<Forgotten> =>
      request(connection, { method: 'POST', path: `${root}/forget`, body: selection, ...options }),
  };
}

function filesOf(connection: Connection) {
  const at = (fileId: string, rest = '') => ({ path: `/v1/files/{fileId}${rest}`, ids: { fileId } });
  return {
    /**
     * Stores a file; blocks of messages name it by its `file_id`. A `Blob` without a name is called `file`. When the reply is lost the file
     * is sent again, and the one that nobody knows of is removed by the service in time.
     * @throws TypeError, before anything is sent, for what is no `Blob` and has none as `data`.
     */
    upload: async (file: Blob | NamedBlob, { signal }: Pick<RequestOptions, 'signal'> = {}): Promise<UploadedFile> => {
      const { data, filename } = toNamedBlob(file);
      const form = new FormData();
      form.append('file', data, filename);
      return request(connection, { method: 'POST', path: '/v1/files/upload', form, signal, head: 'late' });
    },
    /**
     * The bytes, from the position `start` on: 0 unless given.
     * @throws RangeError for a `start` that is no whole number from 0 on.
     */
    get: async (
      fileId: string,
      { start = 0, ...options }: Pick<RequestOptions, 'signal'> & { readonly start?: number } = {},
    ): Promise<Blob> => {
      if (!Number.isSafeInteger(start) || start < 0)
        throw new RangeError(`start must be a whole number from 0 on, and is ${String(start)}`);
      const headers = start === 0 ? undefined : { range: `bytes=${String(start)}-` };
      return send(connection, { method: 'GET', ...at(fileId), headers, ...options }, (response) => {
        if (start > 0 && response.status !== 206)
          throw toForeign(response, 'it has not only the part of the file that was asked for');
        if (isPage(response)) throw toForeign(response, 'it is a page');
        return readFile(response, { ...options, connection });
      });
    },
    info: (fileId: string, options: RequestOptions = {}): Promise<FileInfo> =>
      request(connection, { method: 'GET', ...at(fileId, '/info'), ...options }),
    /** An address at which anybody reads the file for ten minutes, as an `<img>` does. */
    url: async (fileId: string, options: RequestOptions = {}): Promise<FileUrl> => {
      const reply = await request<FileUrl>(connection, { method: 'GET', ...at(fileId, '/url'), ...options });
      return { ...reply, url: connection.url + reply.url };
    },
    delete: (fileId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(fileId), ...options }),
    /** What files the service takes. */
    multimodal: (options: RequestOptions = {}): Promise<MultimodalConfig> =>
      request(connection, { method: 'GET', path: '/v1/config/multimodal', ...options }),
  };
}

interface NamedBlob {
  readonly data: Blob;
  readonly filename: string;
}

function toNamedBlob(file: unknown): NamedBlob {
  if (file instanceof Blob) return { data: file, filename: 'name' in file ? String(file.name) : 'file' };
  const { data, filename = 'file' } = Object(file) as Partial<NamedBlob>;
  if (data instanceof Blob) return { data, filename };
  throw new TypeError('a file must be a Blob, or { data, filename } with a Blob as data');
}
