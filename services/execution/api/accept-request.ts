import { readForeignSchema } from '@agent-workflow/graph/schema/foreign';
import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import { requestContext, type RequestContext } from '@agent-workflow/kit/request-context';
import type { RemoteTool, StartRequest } from '@agent-workflow/protos/execution';
import { answeredCalls, type Message } from '@agent-workflow/protos/message';
import { bytesOfTools } from '@agent-workflow/protos/remote-tools';
import type { AcceptRunRequest } from '@agent-workflow/protos/threads';
import type { AgentShape } from '../record/agent-shape.ts';
import { fromJson } from '../record/json.ts';
import { readableMs } from '../record/readable.ts';
import { everyNode, toOptionsJson, type Breakpoints } from '../record/run-options.ts';
import { refuseInitialState, splitInitialState } from './update-state.ts';

const noState: ReturnType<typeof splitInitialState> = { fields: {}, messages: [] };

/** The initial state of a request, divided. @throws Invalid naming the field that the agent refuses. */
export function refuseState(
  agent: AgentShape,
  { initialStateJson }: Pick<StartRequest, 'initialStateJson'>,
): ReturnType<typeof splitInitialState> {
  if (!initialStateJson) return noState;
  const divided = splitInitialState(objectOf(initialStateJson));
  refuseInitialState(agent, divided.fields);
  return divided;
}

/** What the record accepts a run with. @throws Invalid naming the field that the agent or a size limit refuses. */
export function toAcceptRequest(agent: AgentShape, request: StartRequest, threadId: string): AcceptRunRequest {
  refuseLarge(request);
  const initialState = objectOf(request.initialStateJson);
  const { fields, messages: context } = refuseState(agent, request);
  if (request.breakpointsJson) refuseBreakpoints(agent, fromJson(request.breakpointsJson) as Breakpoints);
  const resume = request.resumeJson && fromJson(request.resumeJson);
  const messages = request.messages.map(({ json }) => fromJson(json) as Message);
  return {
    owner: request.owner,
    threadId,
    runId: request.runId,
    requestId: request.requestId,
    ...(request.threadName === undefined ? {} : { threadName: request.threadName }),
    ...(request.threadMetadataJson === undefined ? {} : { metadataJson: request.threadMetadataJson }),
    ...(request.threadMarksJson === undefined ? {} : { marksJson: request.threadMarksJson }),
    ...(request.checkpointId === undefined ? {} : { checkpointId: request.checkpointId }),
    ...(request.threadTtlSeconds === undefined ? {} : { ttlSeconds: request.threadTtlSeconds }),
    // Messages of the initial state come first: the messages of the request continue them.
    messages: context.length === 0 ? request.messages : [...context, ...request.messages],
    answers: messages.filter(({ role }) => role === 'tool').flatMap(answeredCalls),
    hasNewInput: request.goesOn !== true && (startsByState(request) || messages.some(({ role }) => role !== 'tool')),
    optionsJson: toOptionsJson(request, {
      accepted: { at: Date.now(), ...traceOfRequest() },
      // Messages of the initial state become messages of the thread. Without any, the JSON of the request is kept as it is.
      ...('context' in initialState && { initialState: fields }),
    }),
    multitaskStrategy: request.multitaskStrategy,
    ...(request.resumeJson ? { resume: { keys: keysOf(resume) } } : {}),
    granularity: request.granularity,
    mayAnswer: request.answering?.mayAnswer ?? [],
    ...(agent.nodes && { nodes: agent.nodes }),
    ...(request.webhookJson !== undefined && { webhookJson: request.webhookJson }),
    ...(request.priority !== undefined && { priority: request.priority }),
    ...(agent.checkedRevision === undefined ? {} : { checkedRevision: agent.checkedRevision }),
    ...(request.newestRunId === undefined ? {} : { newestRunId: request.newestRunId }),
    ...(request.onlyNewThread && { onlyNewThread: true }),
    ...(request.retryOf === undefined ? {} : { retryOf: request.retryOf }),
    ...(request.deletesThread && { deletesThreadAfterMs: readableMs }),
    runIdIsNew: request.runIdIsNew === true,
    threadIdIsNew: request.threadId === undefined || request.threadIdIsNew === true,
  };
}

/** @throws Invalid naming the first node that the graph does not have. */
function refuseBreakpoints({ ownNodes }: AgentShape, { before = [], after = [] }: Breakpoints): void {
  for (const [name, nodes] of Object.entries({ interruptBefore: before, interruptAfter: after })) {
    const index = nodes.findIndex((node) => node !== everyNode && !ownNodes.has(node));
    const unknown = nodes[index];
    if (unknown !== undefined) throw invalid([name, index], `the graph has no node "${unknown}"`, 'node_name');
  }
}

/** An initial state alone is new input, as a new message is. */
const startsByState = ({ messages, initialStateJson, resumeJson }: StartRequest): boolean =>
  messages.length === 0 && initialStateJson !== undefined && resumeJson === undefined;

/**
 * The request without the tools that its owner set up and that do not fit this agent: those with the name of a tool of its graph, and those for a
 * node that its graph does not have.
 */
export function withFittingTools({ toolNames, ownNodes }: AgentShape, request: StartRequest): StartRequest {
  if (!request.tools.some(({ isSetUp }) => isSetUp)) return request;
  const fits = ({ name, nodeName }: RemoteTool): boolean =>
    !toolNames.has(name) && (nodeName === '' || ownNodes.has(nodeName));
  return { ...request, tools: request.tools.filter((tool) => !tool.isSetUp || fits(tool)) };
}

/**
 * @throws Invalid naming the first tool of the caller that has the name of a tool of the graph, is for a node that the graph does not have, or has a
 * schema by which no arguments can be checked.
 */
export function refuseTools({ toolNames, ownNodes }: AgentShape, { tools }: Pick<StartRequest, 'tools'>): void {
  for (const [index, { name, nodeName, isSetUp, parametersJson }] of tools.entries()) {
    if (toolNames.has(name)) {
      throw invalid(['tools', index, 'name'], `"${name}" is a tool of the server`, 'tool_name');
    }
    if (nodeName !== '' && !ownNodes.has(nodeName)) {
      throw invalid(['tools', index, 'nodeName'], `the graph has no node "${nodeName}"`, 'node_name');
    }
    if (tools.findIndex((other) => other.name === name) !== index) {
      throw invalid(['tools', index, 'name'], `"${name}" is declared twice`, 'tool_name');
    }
    // What is set up was checked then.
    if (isSetUp !== true) refuseSchema(parametersJson, ['tools', index, 'parameters']);
  }
}

function refuseSchema(json: Uint8Array, at: ErrorDetail['field']): void {
  try {
    readForeignSchema(fromJson(json));
  } catch (error) {
    throw invalid(at, error instanceof Error ? error.message : String(error), 'tool_schema');
  }
}

/** The trace of the present request, which its run continues. */
export function traceOfRequest(): Pick<RequestContext, 'traceparent' | 'tracestate'> {
  const { traceparent, tracestate } = requestContext();
  return { ...(traceparent !== undefined && { traceparent }), ...(tracestate !== undefined && { tracestate }) };
}

/** The keys of an answer that is an object: they are ids of questions, if all of them are open. */
const keysOf = (resume: unknown): string[] =>
  typeof resume === 'object' && resume !== null && !Array.isArray(resume) ? Object.keys(resume) : [];

/** Bounds what a run is started with, apart from its messages, which the record bounds. */
function refuseLarge({
  initialStateJson,
  configJson,
  contextJson,
  userJson,
  resumeJson,
  breakpointsJson,
  requestJson,
  threadMarksJson,
  knowledgeJson,
  tools,
}: StartRequest): void {
  refuseLargeField('initialState', initialStateJson?.byteLength, sizes.state);
  refuseLargeField('config', configJson?.byteLength, sizes.config);
  refuseLargeField('context', contextJson?.byteLength, sizes.config);
  refuseLargeField('user', userJson?.byteLength, sizes.metadata);
  if (tools.length > 0) refuseLargeField('tools', bytesOfTools(tools), sizes.toolsTogether);
  refuseLargeField('resume', resumeJson?.byteLength, sizes.resume);
  refuseLargeField('interruptBefore', breakpointsJson?.byteLength, sizes.breakpoints);
  refuseLargeField('threadMarks', threadMarksJson?.byteLength, sizes.metadata);
  refuseLargeField('request', requestJson?.byteLength, sizes.shownRequest);
  refuseLargeField('knowledge', knowledgeJson?.byteLength, sizes.knowledge);
}

function refuseLargeField(name: string, bytes: number | undefined, bound: number): void {
  if (bytes !== undefined && bytes > bound) refuseOver(bytes, bound, [name]);
}

const objectOf = (json: Uint8Array | undefined): Readonly<Record<string, unknown>> =>
  json ? (fromJson(json) as Readonly<Record<string, unknown>>) : {};
