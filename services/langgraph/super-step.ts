import { Command } from '@langchain/langgraph';
import type { Message, NodeContext } from '@agent-workflow/graph';
import { failureOfCode, readable } from '@agent-workflow/graph/state/failure';
import { checkSubgraphs, sharedNamespaces, withSaver, type LangGraph } from './compiled.ts';
import type { Kept } from './kept.ts';
import { plainData } from './plain-data.ts';
import { StateSaver } from './state-saver.ts';
import { StreamedMessages } from './streamed-messages.ts';
import { TracedRuns } from './traced-runs.ts';
import { tracedCode } from '@agent-workflow/graph/trace/current-span';
import { inputOf, messagesIn, updateOf } from './thread-messages.ts';
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import type { LLMResult } from '@langchain/core/outputs';

interface SuperStep {
  readonly graph: LangGraph;
  /** `null`: the graph has no messages. */
  readonly messagesKey: string | null;
  readonly streamedNodes: readonly string[] | undefined;
  /** What the state keeps; absent in a new thread. */
  readonly kept: Kept | undefined;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly messages: readonly Message[];
  /** The channels that are fields of the state too, and the values of all fields. */
  readonly shown: readonly string[];
  readonly values: Readonly<Record<string, unknown>>;
  readonly context: NodeContext;
}

type Result = Omit<ReturnType<typeof updateOf>, 'ids'> & {
  readonly kept: Kept;
  /** Of the shown channels: those that have another value than their field. */
  readonly changed: Readonly<Record<string, unknown>>;
};

/** Gives the graph the new messages and fields of the thread, and runs its first super-step. */
export async function beginRun(step: SuperStep): Promise<Result> {
  await checkSubgraphs(step.graph);
  const opened = await open(step);
  const { ids = {} } = step.kept ?? {};
  const { messagesKey } = step;
  const channel = channelOf(opened.saver, messagesKey);
  const input = messagesKey === null ? { messages: [], ids } : inputOf(step.messages, channel, ids);
  // LangGraph takes the input and stops before its first node.
  const others = differing(
    step.shown,
    (name) => plainData(step.values[name]),
    (name) => opened.saver.channelValue(name),
  );
  await drive(opened, { ...others, ...(messagesKey !== null && { [messagesKey]: input.messages }) });
  return advance({ ...opened, ids: input.ids }, null);
}

/** Runs the next super-step, with the answers to what the last one asked. */
export async function continueRun(step: SuperStep): Promise<Result> {
  const opened = await open(step);
  const { kept: { ids = {} } = {}, answers } = step;
  const hasAnswers = Object.keys(answers).length > 0;
  return advance({ ...opened, ids }, hasAnswers ? new Command({ resume: plainData(answers) }) : null);
}

interface Opened {
  readonly step: SuperStep;
  readonly graph: LangGraph;
  readonly saver: StateSaver;
  readonly stream: StreamedMessages;
}

async function open(step: SuperStep): Promise<Opened> {
  const saver = await new StateSaver().load(step.kept?.checkpoints ?? {});
  const { context, messagesKey, streamedNodes: nodes } = step;
  const isShared = await sharedNamespaces(step.graph, messagesKey);
  const stream = new StreamedMessages({ openMessage: context.openMessage, messagesKey, nodes, isShared });
  return { step, graph: withSaver(step.graph, saver), saver, stream };
}

async function advance({ ids, ...opened }: Opened & { readonly ids: Kept['ids'] }, input: unknown): Promise<Result> {
  const { step, graph, saver, stream } = opened;
  const { messages: context, messagesKey } = step;
  const before = channelOf(saver, messagesKey);
  await drive(opened, input);
  const after = channelOf(saver, messagesKey);
  const { next } = await graph.getState(configOf(step.context));
  const questions = saver.questions();
  const isAsking = questions.length > 0;
  const update = updateOf({ context, before, after, ids, streamed: stream.streamed(), isAsking });
  const isDone = next.length === 0;
  const changed = differing(
    step.shown,
    (name) => saver.channelValue(name),
    (name) => step.values[name],
  );
  const checkpoints = await saver.keep();
  return { ...update, changed, kept: { version: 1, checkpoints, ids: update.ids, questions, isDone } };
}

const channelOf = (saver: StateSaver, messagesKey: string | null): ReturnType<typeof messagesIn> =>
  messagesKey === null ? [] : messagesIn(saver.channelValue(messagesKey));

/** The values of `from` that are another JSON in `than`. A value that is absent in `from` changes nothing. */
function differing(names: readonly string[], from: ValueOf, than: ValueOf): Record<string, unknown> {
  const pairs = names.map((name) => [name, from(name)] as const);
  return Object.fromEntries(
    pairs.filter(([name, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(than(name))),
  );
}

type ValueOf = (name: string) => unknown;

/** Runs LangGraph until it is to enter its next super-step: it stops before every node that it did not stop before already. */
async function drive({ step, graph, stream }: Opened, input: unknown): Promise<void> {
  const { context } = step;
  const tasks = new Map<unknown, string>();
  const code = tracedCode();
  const traced = code ? [new TracedRuns(code, context.signal)] : [];
  const options = {
    ...configOf(context),
    ...{ signal: context.signal, interruptBefore: '*', durability: 'sync', subgraphs: true },
    ...{ streamMode: ['custom', 'tasks'], callbacks: [stream, new ReportedUsage(context.usage), ...traced] },
  };
  try {
    for await (const part of await graph.stream(input, options)) {
      const [, mode, data] = part as readonly [namespace: unknown, mode: string, data: unknown];
      if (mode === 'custom') context.progress(data);
      if (mode === 'tasks') tasks.set((data as Task).id, (data as Task).name);
    }
  } catch (thrown) {
    const error = readable(thrown);
    const node = tasks.get((error as { readonly pregelTaskId?: unknown } | undefined)?.pregelTaskId);
    if (node === undefined || context.signal.aborted) throw error;
    throw failureOfCode('NodeFailed', `node "${node}" of LangGraph`, error, node);
  }
}

interface Task {
  readonly id: string;
  readonly name: string;
}

/** Keys by which LangGraph selects checkpoints and recognizes runs: a caller must not choose them. */
const ownKeys = new Set([
  ...['thread_id', 'run_id', 'checkpoint_id', 'checkpoint_ns', 'checkpoint_map'],
  ...['user', 'idempotency_key'],
]);

function configOf({ config, context, threadId, user, idempotencyKey }: NodeContext): object {
  const entries = Object.entries(config).filter(([name]) => !ownKeys.has(name) && !name.startsWith('__'));
  const given = Object.fromEntries(entries);
  const own = { user, thread_id: threadId, idempotency_key: idempotencyKey };
  return { configurable: { ...given, ...own }, context: { ...given, ...context } };
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
