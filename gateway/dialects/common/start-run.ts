import { isServiceError, ServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { within } from '@agent-workflow/protos/call';
import type { RemoteTool, StartRequest, StartReply } from '@agent-workflow/protos/execution';
import type { Granularity } from '@agent-workflow/protos/lists';
import { idText } from '@agent-workflow/protos/message';
import { newerRun, threadExists } from '@agent-workflow/protos/refusals';
import { bytesOfTools } from '@agent-workflow/protos/remote-tools';
import type { Run } from '@agent-workflow/protos/threads';
import { knowledgeOfRun } from '../../access/knowledge.ts';
import { getAssistant } from '../../assistants/index.ts';
import type { Access } from '../../http/access.ts';
import type { EndpointRequest } from '../../http/endpoint.ts';
import { invalidAt, type Loc } from '../../http/fields.ts';
import { jsonBytes } from '../../http/json.ts';
import { fromShareId } from '../../shares/index.ts';
import type { Services } from './services.ts';
import type { RunTerms } from '../../schedules/run-terms.ts';
import type { RunOrder } from './run-order.ts';
import { boundedBytes, metadataBytes, tooLarge } from './bounded.ts';
import { agentOf } from './named-agent.ts';
import { addresseesIn, answererOf, mayAnswer, refusedQuestion } from './questions.ts';
import { configOf } from './run-config.ts';
import { toEntries } from './incoming-messages.ts';
import { webhookJsonOf } from './run-webhook.ts';

type Declaring = Pick<RunOrder, 'tools' | 'config'>;
type Tool = NonNullable<RunOrder['tools']>[number];

interface DeclaredTool {
  readonly tool: Tool;
  /** Where it stands in the request. */
  readonly place: Loc;
}

const inConfig: Loc = ['body', 'config', 'remote_tools'];

/** The tools that a request declares: its own, and those of its config whose names are free. */
export function declaredTools({ tools = [], config }: Declaring): readonly DeclaredTool[] {
  const own = tools.map((tool, index): DeclaredTool => ({ tool, place: ['body', 'tools', index] }));
  const given = (config?.remote_tools ?? []).map((tool, index): DeclaredTool =>
    'function' in tool
      ? { tool: tool.function, place: [...inConfig, index, 'function'] }
      : { tool, place: [...inConfig, index] },
  );
  const declared = [...own, ...given.filter(({ tool }) => !tools.some(({ name }) => name === tool.name))];
  if (declared.length <= sizes.tools) return declared;
  const msg = `must NOT have more than ${String(sizes.tools)} items, with those of tools`;
  throw invalidAt(inConfig, msg, 'too_long');
}

/** The error of a start, whose services know one list of tools, with the place that a tool of the config has in the request. */
function atPlaceOfTool(error: unknown, input: Declaring): unknown {
  if (!(error instanceof ServiceError)) return error;
  const [detail] = error.details;
  const [list, index, name] = detail?.field ?? [];
  if (detail === undefined || list !== 'tools' || typeof index !== 'number' || index < (input.tools?.length ?? 0))
    return error;
  const place = declaredTools(input)[index]?.place;
  if (place === undefined || name === undefined) return error;
  return invalidAt([...place, name === 'nodeName' ? 'node_name' : name], detail.msg, detail.type);
}

type Starting = Pick<
  EndpointRequest<unknown, RunOrder>,
  | 'input'
  | 'owner'
  | 'sender'
  | 'keepsQuestions'
  | 'shareId'
  | 'shareUntil'
  | 'user'
  | 'roles'
  | 'agent'
  | 'requestId'
  | 'newId'
  | 'idempotency'
  | 'at'
  | 'call'
>;

interface Starts {
  readonly granularity: Granularity;
  /** What the dialect adds to the order of its caller. */
  readonly terms?: RunTerms | undefined;
  /** Whether its webhook was checked when the run was put off. */
  readonly webhookIsChecked?: true;
  /** The run is accepted only while this is the newest of its thread; `isNewerRun` recognizes the refusal. */
  readonly newestRunId?: string | undefined;
  /** The run is accepted only where it makes its thread; `isThreadThere` recognizes the refusal. */
  readonly onlyNewThread?: boolean;
  /** How long the reply may wait for the end of the run, in milliseconds; absent: not at all. */
  readonly awaitEndMs?: number | undefined;
}

/** The body of invoke, stream and `POST /v1/runs`, and what a schedule keeps of one, as a run to start. */
export async function toStartRequest(
  {
    input,
    owner,
    sender = owner,
    keepsQuestions,
    shareId,
    shareUntil,
    user,
    roles = [],
    agent,
    requestId,
    newId,
    idempotency,
    at,
    call,
  }: Starting,
  { granularity, terms = {}, webhookIsChecked, newestRunId, onlyNewThread, awaitEndMs }: Starts,
  { tools: toolStore, secured, threads, access }: Pick<Services, 'tools' | 'secured' | 'threads' | 'access'>,
): Promise<StartRequest> {
  const { config, initial_state: initialState, resume } = input;
  const share = shareId === undefined ? undefined : fromShareId(shareId);
  const addressees = access.signsIn ? addresseesIn(access) : undefined;
  const thread = config && threadOf(config);
  // The claims are not part of this bound: they have one of their own.
  if (config) boundedBytes(config, ['body', 'config'], sizes.metadata);
  const assistant =
    config?.assistant_id === undefined
      ? undefined
      : await assistantOfRun(threads, { owner, id: idText(config.assistant_id) }, config, { call, agent });
  const nodeConfig = configOf(assistant?.config ?? config, { owner: sender, ...(user && { user }) }, secured);
  const context = assistant ? { ...assistant.context, ...input.context } : input.context;
  return {
    owner,
    ...(sender !== owner && { sender }),
    ...(keepsQuestions && { keepsQuestions }),
    ...(share && { shareId: share.id }),
    ...(shareUntil !== undefined && { shareUntil }),
    ...(addressees && { addressees }),
    requestId,
    runId: newId('run'),
    runIdIsNew: idempotency.onceKey === undefined,
    messages: toEntries(input.messages ?? [], newId, at),
    tools: boundedTools(
      mergeTools(
        declaredTools(input).map(({ tool }) => toRemoteTool(tool)),
        await toolStore.get(owner),
      ),
    ),
    recursionLimit: input.recursion_limit,
    granularity: input.response_granularity ?? granularity,
    multitaskStrategy: config?.multitask_strategy ?? 'enqueue',
    // Without an id the thread is new; a repeated idempotent request gets the same id, at another replica too.
    ...(config?.thread_id === undefined && {
      threadId: newId('thread'),
      threadIdIsNew: idempotency.onceKey === undefined,
    }),
    ...thread,
    ...assistant?.ofAgent,
    // For another agent than this the caller may not be authorized.
    ...(agent !== undefined && { agent }),
    ...(nodeConfig && { configJson: jsonBytes(nodeConfig) }),
    ...(context && { contextJson: boundedBytes(context, ['body', 'context'], sizes.config) }),
    ...(initialState && { initialStateJson: boundedBytes(initialState, ['body', 'initial_state'], sizes.state) }),
    ...(resume !== undefined && { resumeJson: boundedBytes(resume, ['body', 'resume'], sizes.resume) }),
    ...breakpointsOf(input),
    ...(config?.on_completion === 'delete' && { deletesThread: true }),
    ...(input.webhook && { webhookJson: webhookJsonOf(input.webhook) }),
    ...(input.priority !== undefined && input.priority > 0 && { priority: input.priority }),
    ...(user && { userJson: jsonBytes(user) }),
    ...(access.knowledge.size > 0 && { knowledgeJson: jsonBytes(knowledgeOfRun(access, { owner, roles })) }),
    ...termsOf(terms),
    ...(webhookIsChecked && { webhookIsChecked }),
    ...(newestRunId !== undefined && { newestRunId }),
    ...(onlyNewThread && { onlyNewThread }),
    ...(awaitEndMs !== undefined && { awaitEndMs }),
  };
}

const termsOf = ({ removes, recordsInput, failsAtLimit, streamsSubgraphs, goesOn, ...about }: RunTerms) => ({
  ...(removes && { removedFromContext: removes }),
  ...(recordsInput && { recordsInput }),
  ...(failsAtLimit && { failsAtLimit }),
  ...(streamsSubgraphs && { streamsSubgraphs }),
  ...(goesOn && { goesOn }),
  ...(about.keptRequest && { requestJson: boundedBytes(about.keptRequest, ['body'], sizes.shownRequest) }),
  ...(about.threadMarks && { threadMarksJson: jsonBytes(about.threadMarks) }),
});

const noBreakpoints: Pick<StartRequest, 'breakpointsJson'> = {};

function breakpointsOf({ interrupt_before: before, interrupt_after: after }: RunOrder): typeof noBreakpoints {
  if (before === undefined && after === undefined) return noBreakpoints;
  const lists = { before: nodesOf('interrupt_before', before), after: nodesOf('interrupt_after', after) };
  return { breakpointsJson: jsonBytes(lists) };
}

function nodesOf(name: string, nodes: string | readonly string[] = []): readonly string[] {
  if (typeof nodes !== 'string') return nodes;
  if (nodes !== '*') throw invalidAt(['body', name], 'must be a list of nodes, or "*"', 'value_error');
  return [nodes];
}

/** What a run has of its assistant: its config under that of the request, its context, and its agent. @throws NotFound */
async function assistantOfRun(
  threads: Services['threads'],
  key: { readonly owner: string; readonly id: string },
  given: NonNullable<RunOrder['config']>,
  { call, agent: allowed }: Pick<EndpointRequest, 'call' | 'agent'>,
) {
  const { agent, version, config, context } = await getAssistant(threads, key, call);
  const named = agentOf(given).agent;
  if (agent !== undefined && named !== undefined && named !== agent)
    throw invalidAt(
      ['body', 'config', 'agent'],
      `is not the agent of assistant "${key.id}", "${agent}"`,
      'value_error',
    );
  if (agent !== undefined && allowed !== undefined && agent !== allowed)
    throw invalidAt(
      ['body', 'config', 'assistant_id'],
      `has the agent "${agent}", and the request is one of "${allowed}"`,
      'value_error',
    );
  return {
    context,
    config: { ...config, ...given, assistant_id: key.id, assistant_version: version },
    ofAgent: agent === undefined ? {} : { agent },
  };
}

function threadOf(config: NonNullable<RunOrder['config']>): Partial<StartRequest> {
  const { thread_id: threadId, thread_name: threadName, metadata, ttl } = config;
  const checkpointId = config.checkpoint_id;
  if (checkpointId !== undefined && threadId === undefined)
    throw invalidAt(
      ['body', 'config', 'checkpoint_id'],
      'is that of a thread: config.thread_id is missing',
      'value_error',
    );
  return {
    ...agentOf(config),
    ...(threadId !== undefined && { threadId: idText(threadId) }),
    ...(threadName !== undefined && { threadName: threadName.toWellFormed() }),
    ...(checkpointId !== undefined && { checkpointId: idText(checkpointId) }),
    ...(typeof ttl === 'number' && { threadTtlSeconds: ttl }),
    ...(metadata && { threadMetadataJson: metadataBytes(metadata, ['body', 'config', 'metadata']) }),
  };
}

/** @throws Invalid when the tools of one run are too large together. */
export function boundedTools(tools: readonly RemoteTool[]): readonly RemoteTool[] {
  const bytes = bytesOfTools(tools);
  if (bytes > sizes.toolsTogether) throw tooLarge(['body', 'tools'], bytes, sizes.toolsTogether);
  return tools;
}

/** The request's own tools come first and replace those of the same name that were set up. */
const mergeTools = (own: readonly RemoteTool[], setUp: readonly RemoteTool[]): readonly RemoteTool[] =>
  setUp.length === 0
    ? own
    : [
        ...own,
        ...setUp
          .filter(({ name }) => !own.some((tool) => tool.name === name))
          .map((tool) => ({ ...tool, isSetUp: true })),
      ];

export const toRemoteTool = (tool: Tool): RemoteTool => ({
  nodeName: tool.node_name ?? '',
  name: tool.name,
  description: tool.description ?? '',
  parametersJson: jsonBytes(tool.parameters ?? { type: 'object', properties: {} }),
});

/** Starts the run that the body of invoke, stream and `POST /v1/runs` asks for. */
export async function startRun(
  request: EndpointRequest<unknown, RunOrder>,
  starts: Starts,
  services: Services,
): Promise<StartReply> {
  const start = await toStartRequest(request, starts, services);
  const { tools, config } = request.input;
  const answering = start.resumeJson && { answering: answererOf(request) };
  try {
    return await startAllowed(request, { ...start, ...answering }, services);
  } catch (error) {
    throw atPlaceOfTool(error, { ...(tools && { tools }), ...(config && { config }) });
  }
}

/**
 * Starts the run. Where it would answer or drop a question of others, it starts all the same when the caller may answer that.
 * @throws PermissionDenied or Conflict when the caller may not
 */
async function startAllowed(
  request: EndpointRequest<unknown, RunOrder>,
  start: StartRequest,
  services: Services,
): Promise<StartReply> {
  const allowed: string[] = [];
  for (;;) {
    const answering = allowed.length === 0 ? {} : { answering: { ...answererOf(request), mayAnswer: allowed } };
    try {
      return await services.execution.start({ ...start, ...answering }, request.call());
    } catch (error) {
      const id = allowed.length < mostQuestions ? refusedQuestion(error) : undefined;
      const question =
        id && (await undefinedIfNotFound(services.threads.getQuestion({ questionId: id }, request.call())));
      if (
        !question ||
        question.isHeld ||
        allowed.includes(question.interruptId) ||
        !mayAnswer(services.access, request, question)
      )
        throw error;
      allowed.push(question.interruptId);
    }
  }
}

/** Questions of others that one start may answer or drop. */
const mostQuestions = 20;

/** Whether a start was refused since its thread has a newer run than the one that it goes on from. */
export const isNewerRun = (error: unknown): boolean => isConflict(error, newerRun);

/** Whether a start was refused since the thread that it would make is there. */
export const isThreadThere = (error: unknown): boolean => isConflict(error, threadExists);

const isConflict = (error: unknown, of: string): boolean =>
  isServiceError(error, 'Conflict') && error.details.some(({ type }) => type === of);

/** Starts the run that tries a failed one again. The record gives it the input and the options of that one. */
export async function startRetry(
  { owner, agent, requestId, newId, idempotency, call }: EndpointRequest,
  { runId: retryOf, threadId, granularity, priority }: Run,
  { execution }: Pick<Services, 'execution'>,
): Promise<StartReply> {
  const start: StartRequest = {
    ...{ owner, requestId, threadId, retryOf, granularity },
    runId: newId('run'),
    runIdIsNew: idempotency.onceKey === undefined,
    messages: [],
    tools: [],
    recursionLimit: 1,
    multitaskStrategy: 'reject',
    ...(agent !== undefined && { agent }),
    ...(priority !== undefined && { priority }),
  };
  return execution.start(start, call());
}

/** With `on_disconnect: cancel`, stops the run when its caller disconnects; otherwise the run goes on. */
export function stopOnDisconnect(
  { input, owner, onDisconnect }: EndpointRequest<unknown, RunOrder>,
  runId: string,
  services: Services,
): void {
  if (input.config?.on_disconnect !== 'cancel') return;
  const { execution, config, log } = services;
  onDisconnect(() => {
    execution.stopRun({ owner, runId }, within(config.CALL_TIMEOUT_MS)).catch((error: unknown) => {
      log.warn({ err: error, run_id: runId }, 'a run whose caller disconnected could not be stopped; it goes on');
    });
  });
}

/** What a run needs besides that takes a thread with it which may have been there before: the right to delete that. */
export const accessToDelete = (deletes: boolean): readonly Access[] =>
  deletes ? [{ resource: 'checkpointer', action: 'delete' }] : [];

/** The same for the run that a request asks for. */
export const accessOfCompletion = ({ config = {} }: Pick<RunOrder, 'config'>): readonly Access[] =>
  accessToDelete(config.on_completion === 'delete' && config.thread_id !== undefined);
