import { Command } from '@langchain/langgraph';
import type { Message, NodeContext, RunContext } from '@agent-workflow/graph';
import type { StepContext, StepOutcome, StepQuestion } from '@agent-workflow/graph/build/step-code';
import { failureOfCode, readable } from '@agent-workflow/graph/state/failure';
import { hashOfJson, isLasting } from './channel-fields.ts';
import { withSaver, type LangGraph } from './compiled.ts';
import { fold, unfold } from './folded.ts';
import { innerPart } from './inner-parts.ts';
import { keptName } from '@agent-workflow/protos/step-tasks';
import type { Kept } from './kept.ts';
import { plainData, withoutUndefined } from './plain-data.ts';
import { runConfigOf } from './run-config.ts';
import { pack, StateSaver, unpack } from './state-saver.ts';
import { SharedTurns } from './shared-turns.ts';
import { stepTasks } from './step-tasks.ts';
import { StreamedMessages, type StreamedOptions } from './streamed-messages.ts';
import { TracedRuns } from './traced-runs.ts';
import { tracedCode } from '@agent-workflow/graph/trace/current-span';
import { channelOf, messagesIn, updateOf, type Changed, type ThreadChannel } from './thread-messages.ts';
import { idName } from './to-lang-chain.ts';
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import type { BaseMessage } from '@langchain/core/messages';
import type { LLMResult } from '@langchain/core/outputs';

/** A graph, and how it is shown. */
export interface Adapted {
  readonly graph: LangGraph;
  /** `null`: the graph has no messages. */
  readonly messagesKey: string | null;
  readonly streamedNodes: readonly string[] | undefined;
  /** The channels that are fields of the state. */
  readonly fields: readonly string[];
  /** Whether messages of a node in this namespace are messages of the graph. */
  readonly isShared: (namespace: string) => boolean;
}

interface Thread {
  readonly kept: Kept | undefined;
  readonly values: Readonly<Record<string, unknown>>;
  readonly messages: readonly Message[];
}

type Values = Readonly<Record<string, unknown>>;

/** Gives the graph new input: the values of its channels are those of the state. LangGraph stops before its first nodes. */
export async function beginRun(adapted: Adapted, thread: Thread, context: RunContext): Promise<Values> {
  const opened = await open(adapted, thread, false);
  const { saver, channels } = opened;
  saver.begin(channels, { triggers: triggersOf(adapted.graph), lasts: (name) => isLasting(adapted.graph, name) });
  await drive(opened, null, { context });
  const { channel } = opened;
  const state = await opened.graph.getState(runConfigOf(context));
  const { ids, messages: before } = channel;
  const same = { context: thread.messages, before, after: before, ids, pending: {}, streamed: [], isAsking: false };
  const update = updateOf({ ...same, inOrder: (messages) => messages });
  const values = await keepStep(opened, state, update);
  const began = { started: [], earlier: new Set<string>(), isKnown: true, isAsking: false, next: state.tasks };
  return withTasks(opened, { values, update, ...began });
}

/** Runs the next super-step, with the answers to what the last one asked. */
export async function runSuperStep(adapted: Adapted, thread: Thread, context: StepContext): Promise<StepOutcome> {
  const opened = await open(adapted, thread, true);
  const { graph, saver, channel } = opened;
  const { nodes, answers } = context;
  const openers = new Map<string, string>();
  const nsOf = placesIn(thread.kept?.tasks);
  const noteInner: StreamedOptions['noteInner'] = (id, node, place) =>
    context.inner?.(ownNode(node, nodes), { message: id, ...place, ns: nsOf(place.ns) });
  const stream = new StreamedMessages({
    openMessage: (node, role, place) => {
      const maker = nodes.includes(node) ? node : (nodes[0] ?? '');
      const message = context.openMessage(maker, role);
      openers.set(message.messageId, maker);
      if (place) noteInner(message.messageId, maker, place);
      return message;
    },
    noteInner,
    messagesKey: adapted.messagesKey,
    nodes: adapted.streamedNodes,
    isShared: adapted.isShared,
  });
  const isAnswer = Object.keys(answers).length > 0;
  saver.isAnswered = isAnswer;
  const earlier = saver.returned();
  const input = isAnswer ? new Command({ resume: plainData(answers) }) : null;
  const tasks = await drive(opened, input, { context, stream, nsOf });
  const asked = saver.questions();
  const after = messagesOf(saver, adapted.messagesKey);
  const state = await graph.getState(runConfigOf(context));
  const names = new Map([...tasks, ...state.tasks.map(({ id, name }) => [id, name] as const)]);
  const makers = makersOf(opened, { nodes, names, openers });
  const update = updateOf({
    ...{ context: thread.messages, before: channel.messages, after, ids: channel.ids },
    ...{ pending: thread.kept?.ids ?? {}, streamed: stream.streamed(), isAsking: asked.length > 0 },
    inOrder: (messages) =>
      messages.toSorted((one, other) => nodes.indexOf(makers.ofMessage(one)) - nodes.indexOf(makers.ofMessage(other))),
  });
  const isAsking = asked.length > 0;
  const isKnown = thread.kept?.tasks !== undefined || new Set(tasks.values()).size === tasks.size;
  const values = await withTasks(opened, {
    ...{ values: await keepStep(opened, state, update), update, earlier, isKnown, isAsking, next: state.tasks },
    started: inOrderOf(tasks, thread.kept?.tasks),
  });
  const questions = asked.map(({ id, task, value }): StepQuestion => ({
    id,
    node: ownNode(names.get(task), nodes),
    value,
  }));
  return { updates: byNodes({ nodes, makers, values, update }), questions };
}

interface Opened extends Adapted {
  readonly saver: StateSaver;
  readonly thread: Thread;
  readonly channel: ThreadChannel;
  /** The values of the channels that are fields, and of that of the messages. */
  readonly channels: Values;
}

/** `isStrict`: whether a list of messages must be known that the next super-step reads. */
async function open(adapted: Adapted, thread: Thread, isStrict: boolean): Promise<Opened> {
  const { kept, values, messages } = thread;
  const saver = new StateSaver();
  const { loadable = {}, unset = [], ids = {}, order, checkpoints } = kept ?? {};
  const channel = channelOf(messages, { ids, ...(order && { order }) });
  const channels: Record<string, unknown> = {};
  for (const name of adapted.fields) {
    const value = values[name];
    if (value === undefined && !unset.includes(name)) continue;
    if ((value ?? null) === null && unset.includes(name)) channels[name] = undefined;
    else if (Object.hasOwn(loadable, name) && loadable[name] === hashOfJson(JSON.stringify(value)))
      channels[name] = await unpack(saver.serde, value);
    else channels[name] = plainData(value);
  }
  if (adapted.messagesKey !== null) channels[adapted.messagesKey] = [...channel.messages];
  const { places, messagesOf: made } = channel;
  await saver.load(checkpoints ?? {}, (value) => unfold(value, { places, messagesOf: made, channels, isStrict }));
  saver.addValues(channels);
  return { ...adapted, graph: withSaver(adapted.graph, saver), saver, thread, channel, channels };
}

const messagesOf = (saver: StateSaver, messagesKey: string | null): readonly BaseMessage[] =>
  messagesKey === null ? [] : messagesIn(saver.channelValue(messagesKey));

const triggersOf = ({ nodes }: LangGraph): ReadonlyMap<string, readonly string[]> =>
  new Map(Object.entries(nodes).map(([name, { triggers = [] }]) => [name, triggers]));

/** The fields that have changed, and what is kept beside them. */
async function keepStep(
  { saver, fields, messagesKey, thread }: Opened,
  { next }: Awaited<ReturnType<LangGraph['getState']>>,
  { stored, places, order, pending }: Pick<ReturnType<typeof updateOf>, 'stored' | 'places' | 'order' | 'pending'>,
): Promise<Values> {
  const changed: Record<string, unknown> = {};
  const loadable: Record<string, string> = {};
  const unset: string[] = [];
  const channels = new Map<object, string>();
  for (const name of fields) {
    if (!saver.hasValue(name)) continue;
    const value = saver.channelValue(name);
    if (value === undefined) unset.push(name);
    if (value === undefined && thread.values[name] === undefined) continue;
    const packed = value === undefined ? null : withoutUndefined(await pack(saver.serde, value));
    if (typeof value === 'object' && value !== null) channels.set(value, name);
    const json = JSON.stringify(packed);
    if (json.includes('"lc":')) loadable[name] = hashOfJson(json);
    if (json !== JSON.stringify(thread.values[name])) changed[name] = packed;
  }
  const omitted = new Set([...fields, ...(messagesKey === null ? [] : [messagesKey])]);
  const kept: Kept = {
    version: 2,
    checkpoints: await saver.keep(omitted, (value) =>
      fold(value, { idOf: (message) => stored.get(message), places, channels }),
    ),
    ...(order && { order }),
    ...{ ids: pending, loadable, unset, next: [...new Set(next)] },
  };
  return { ...changed, [keptName]: kept };
}

type Ended = Pick<Parameters<typeof stepTasks>[0], 'started' | 'earlier' | 'isKnown' | 'isAsking' | 'next'> & {
  readonly values: Values;
  readonly update: ReturnType<typeof updateOf>;
};

/** The fields that a step changed, with what its tasks gave, and the ids of those that come next. */
async function withTasks({ saver, messagesKey, fields, thread }: Opened, ended: Ended): Promise<Values> {
  const { values, update, ...rest } = ended;
  const { messages } = update;
  const given = await stepTasks({
    ...{ saver, messagesKey, fields, before: thread.values, changed: values, messages },
    ...rest,
  });
  if (!given) return values;
  const tasks = rest.next.map(({ id, name }) => [id, name] as const);
  return { ...values, [keptName]: { ...(values[keptName] as Kept), tasks, given } };
}

/** The tasks that ran, in the order that they had when they were to come next: they begin in another where some had returned before. */
function inOrderOf(ran: ReadonlyMap<string, string>, before: Kept['tasks'] = []): readonly Task[] {
  return [...new Map([...before, ...ran])].map(([id, name]) => ({ id, name }));
}

interface Makers {
  readonly ofField: (name: string) => string;
  readonly ofMessage: (message: Changed) => string;
}

interface Tasks {
  readonly nodes: readonly string[];
  /** The nodes of tasks. */
  readonly names: ReadonlyMap<string, string>;
  /** The nodes that opened messages. */
  readonly openers: ReadonlyMap<string, string>;
}

/** The nodes that wrote what the super-step gave. Nobody knows who wrote what is kept beside: it stands with the first. */
function makersOf({ saver, messagesKey }: Opened, { nodes, names, openers }: Tasks): Makers {
  const fields = new Map<string, string>();
  const messages = new Map<string, string>();
  for (const { task, channel, value } of saver.written()) {
    const node = ownNode(names.get(task), nodes);
    fields.set(channel, node);
    if (channel === messagesKey) for (const message of messagesIn([value].flat())) messages.set(message.id ?? '', node);
  }
  return {
    ofField: (name) => ownNode(fields.get(name), nodes),
    ofMessage: ({ message_id: own, metadata }) => {
      const known = metadata?.[idName];
      return ownNode(openers.get(own) ?? messages.get(typeof known === 'string' ? known : own), nodes);
    },
  };
}

interface Made {
  readonly nodes: readonly string[];
  readonly makers: Makers;
  readonly values: Values;
  readonly update: ReturnType<typeof updateOf>;
}

/** What the super-step gave, by the nodes that wrote it. */
function byNodes({ nodes, makers, values, update }: Made): StepOutcome['updates'] {
  const updates = new Map<string, { messages: unknown[]; [field: string]: unknown }>(
    nodes.map((node) => [node, { messages: [] }]),
  );
  const of = (node: string) => updates.get(node) ?? { messages: [] };
  for (const [name, value] of Object.entries(values)) of(makers.ofField(name))[name] = value;
  for (const message of update.messages) of(makers.ofMessage(message)).messages.push(message);
  if (update.removed.length > 0) of(nodes[0] ?? '')['removed_from_context'] = update.removed;
  return updates;
}

/** The node, where it is one of the step; else the first. */
const ownNode = (node: string | undefined, nodes: readonly string[]): string =>
  node !== undefined && nodes.includes(node) ? node : (nodes[0] ?? '');

/** Of a namespace: the node of the graph and the place of its task among those of the node, then what LangGraph calls those within. */
type Namespace = readonly (string | readonly [node: string, index: number])[];

/** Puts the place of a task of the graph into a namespace of LangGraph. Tasks that were not to come next are counted as they are met. */
function placesIn(tasks: Kept['tasks'] = []): (namespace: readonly string[]) => Namespace {
  const known = new Map<string, readonly [node: string, index: number]>();
  const counts = new Map<string, number>();
  const add = (id: string, node: string): readonly [node: string, index: number] => {
    const index = counts.get(node) ?? 0;
    counts.set(node, index + 1);
    known.set(id, [node, index]);
    return [node, index];
  };
  for (const [id, node] of tasks) add(id, node);
  return ([first = '', ...inner]) => {
    const end = first.lastIndexOf(':');
    const id = first.slice(end + 1);
    return [known.get(id) ?? add(id, first.slice(0, end)), ...inner];
  };
}

/** The node of the step in which something goes on. */
const outerOf = ([first]: Namespace, nodes: readonly string[]): string =>
  ownNode(typeof first === 'object' ? first[0] : undefined, nodes);

interface Driving {
  readonly context: RunContext | StepContext;
  readonly stream?: StreamedMessages;
  readonly nsOf?: (namespace: readonly string[]) => Namespace;
}

/**
 * Runs LangGraph until it is to enter its next super-step: it stops before every node that it did not stop before already.
 * @returns the nodes of the tasks that ran.
 */
async function drive(
  { graph }: Opened,
  input: unknown,
  { context, stream, nsOf }: Driving,
): Promise<ReadonlyMap<string, string>> {
  const tasks = new Map<string, string>();
  const code = tracedCode();
  const traced = code ? [new TracedRuns(code, context.signal)] : [];
  const step = 'progress' in context ? context : undefined;
  const options = {
    ...runConfigOf(context, step?.idempotencyKey),
    ...{ signal: context.signal, interruptBefore: '*', interruptAfter: [], durability: 'sync', subgraphs: true },
    streamMode: step?.inner ? ['custom', 'tasks', 'values', 'updates'] : ['custom', 'tasks'],
    callbacks: [
      new SharedTurns(),
      ...(stream ? [stream] : []),
      ...(step ? [new ReportedUsage(step.usage)] : []),
      ...traced,
    ],
  };
  try {
    for await (const part of await graph.stream(input, options)) {
      const [namespace, mode, data] = part as readonly [namespace: readonly string[], mode: string, data: unknown];
      if (namespace.length > 0 && step?.inner && nsOf) {
        const part = innerPart(mode, data);
        const ns = nsOf(namespace);
        if (part !== undefined) step.inner(outerOf(ns, step.nodes), { ns, mode, data: part });
        continue;
      }
      if (mode === 'custom') step?.progress(step.nodes[0] ?? '', data);
      if (mode === 'tasks' && namespace.length === 0) tasks.set((data as Task).id, (data as Task).name);
    }
    return tasks;
  } catch (thrown) {
    const error = readable(thrown);
    const node = tasks.get(String((error as { readonly pregelTaskId?: unknown } | undefined)?.pregelTaskId));
    if (node === undefined || context.signal.aborted) throw error;
    throw failureOfCode('NodeFailed', `node "${node}" of LangGraph`, error, node);
  }
}

interface Task {
  readonly id: string;
  readonly name: string;
}

type Started = Parameters<NonNullable<BaseCallbackHandler['handleChatModelStart']>>;

/** What an answer of a model says of itself, as far as its provider does. */
interface Answered {
  readonly usage_metadata?: { readonly input_tokens?: unknown; readonly output_tokens?: unknown };
  readonly response_metadata?: { readonly model_name?: unknown };
}

const unnamed = 'unknown';

/** Reports the tokens of each answer of a model, which models call it with, to `ctx.usage`. */
class ReportedUsage extends BaseCallbackHandler {
  override readonly name = 'agent-workflow-usage';
  override awaitHandlers = true;
  readonly #report: NodeContext['usage'];
  /** The models of the calls under way. */
  readonly #models = new Map<string, string>();

  constructor(report: NodeContext['usage']) {
    super();
    this.#report = report;
  }

  override handleChatModelStart(...[, , call, , , , metadata = {}]: Started): void {
    const model = metadata['ls_model_name'];
    if (typeof model === 'string' && model !== '') this.#models.set(call, model);
  }

  override handleLLMEnd({ generations }: LLMResult, call: string): void {
    const known = this.#models.get(call);
    this.#models.delete(call);
    for (const generation of generations.flat()) {
      const { message } = generation as { readonly message?: Answered };
      const { input_tokens: inputTokens, output_tokens: outputTokens } = message?.usage_metadata ?? {};
      if (!isCount(inputTokens) || !isCount(outputTokens)) continue;
      const named = message?.response_metadata?.model_name;
      const model = typeof named === 'string' && named !== '' ? named : (known ?? unnamed);
      this.#report({ model, inputTokens, outputTokens });
    }
  }

  override handleLLMError(_error: unknown, call: string): void {
    this.#models.delete(call);
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
