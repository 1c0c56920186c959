import type { Message } from '@agent-workflow/graph';
import type { TracedCode } from '@agent-workflow/graph/trace/current-span';
import { failSpan } from '@agent-workflow/graph/trace/span-error';
import { sentMessages } from '@agent-workflow/graph/trace/sent-messages';
import type { Span } from '@agent-workflow/graph/trace/step-trace';
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import type { BaseMessage } from '@langchain/core/messages';
import type { LLMResult } from '@langchain/core/outputs';
import { fromLangChain, reasonOf } from './from-lang-chain.ts';

type ChainStarted = Parameters<NonNullable<BaseCallbackHandler['handleChainStart']>>;
type ModelStarted = Parameters<NonNullable<BaseCallbackHandler['handleChatModelStart']>>;
type ToolStarted = Parameters<NonNullable<BaseCallbackHandler['handleToolStart']>>;

/** What an answer of a model says of itself, as far as its provider does. */
interface Answered {
  readonly content?: unknown;
  readonly usage_metadata?: { readonly input_tokens?: unknown; readonly output_tokens?: unknown };
  readonly response_metadata?: Readonly<Record<string, unknown>>;
}

/**
 * Traces what runs within a super-step: the nodes of LangGraph, those of sub-graphs within their nodes, models and tools. LangChain calls it, and
 * names each run and the one around it.
 */
export class TracedRuns extends BaseCallbackHandler {
  override readonly name = 'agent-workflow-trace';
  override awaitHandlers = true;
  readonly #code: TracedCode;
  readonly #signal: AbortSignal;
  /** The spans of runs; of one that is none of its own that of the run around it. */
  readonly #spans = new Map<string, Span>();
  /** Runs that have a span of their own. */
  readonly #own = new Set<string>();

  constructor(code: TracedCode, signal: AbortSignal) {
    super();
    this.#code = code;
    this.#signal = signal;
  }

  // The types of LangChain name these in another order than that in which it gives them.
  override handleChainStart(...[, inputs, run, parent, , metadata = {}, , name]: ChainStarted): void {
    const above = this.#above(parent);
    // LangGraph has nodes of its own for input and output.
    const isNode = name !== undefined && name === metadata['langgraph_node'] && !name.startsWith('__');
    if (!isNode) {
      this.#spans.set(run, above);
      return;
    }
    const span = this.#open(run, above.begin('node', { name }));
    if (span.keepsContent) span.add('input', inputs);
  }

  override handleChainEnd(output: unknown, run: string): void {
    this.#close(run, (span) => {
      if (span.keepsContent) span.add('output', output);
    });
  }

  override handleChainError(error: unknown, run: string): void {
    this.#fail(run, error);
  }

  override handleChatModelStart(...[, messages, run, parent, , , metadata = {}]: ModelStarted): void {
    const model = metadata['ls_model_name'];
    const sent = messages.flat();
    const { noted, others } = sentMessages(sent.map(toNamed), this.#code.context);
    const facts = { name: typeof model === 'string' ? model : '', sent: noted };
    const span = this.#open(run, this.#above(parent).begin('model', facts));
    if (!span.keepsContent || others.length === 0) return;
    const unknown = new Set(others.map(({ message_id: id }) => id));
    span.add('sent', sent.filter((message, index) => unknown.has(idOf(message, index))).map(shownMessage));
  }

  override handleLLMEnd({ generations }: LLMResult, run: string): void {
    const { message } = (generations[0]?.[0] ?? {}) as { readonly message?: Answered };
    this.#close(run, (span) => {
      if (message) noteAnswer(span, message);
    });
  }

  override handleLLMError(error: unknown, run: string): void {
    this.#fail(run, error);
  }

  override handleToolStart(...[tool, input, run, parent, , , name, call]: ToolStarted): void {
    const own = 'name' in tool && typeof tool.name === 'string' ? tool.name : tool.id.at(-1);
    const facts = { name: name ?? own ?? '', ...(call !== undefined && { call }) };
    const span = this.#open(run, this.#above(parent).begin('tool', facts));
    if (span.keepsContent) span.add('input', input);
  }

  override handleToolEnd(output: unknown, run: string): void {
    this.#close(run, (span) => {
      if (span.keepsContent) span.add('output', output);
    });
  }

  override handleToolError(error: unknown, run: string): void {
    this.#fail(run, error);
  }

  #above(parent: string | undefined): Span {
    return (parent === undefined ? undefined : this.#spans.get(parent)) ?? this.#code.span;
  }

  #open(run: string, span: Span): Span {
    this.#spans.set(run, span);
    this.#own.add(run);
    return span;
  }

  #close(run: string, note: (span: Span) => void): void {
    const span = this.#take(run);
    if (!span) return;
    note(span);
    span.end();
  }

  #fail(run: string, error: unknown): void {
    const span = this.#take(run);
    if (isQuestion(error)) span?.end('waiting');
    else if (isHandoff(error)) span?.end();
    else failSpan(span, error, this.#signal);
  }

  /** The span of a run that has ended; `undefined` when it has none of its own. */
  #take(run: string): Span | undefined {
    const span = this.#spans.get(run);
    this.#spans.delete(run);
    return this.#own.delete(run) ? span : undefined;
  }
}

/** LangGraph ends a node that asks by an error, which is known by its name whatever copy made it. */
const isQuestion = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'GraphInterrupt' || error.name === 'NodeInterrupt');

/** So does a node that hands off to a node of the graph around its own. */
const isHandoff = (error: unknown): boolean => error instanceof Error && error.name === 'ParentCommand';

/** Messages of the thread have its ids in LangGraph, too. */
const idOf = ({ id }: BaseMessage, index: number): string => id ?? `#${String(index)}`;

const toNamed = (message: BaseMessage, index: number): Message => ({
  ...{ message_id: idOf(message, index), role: 'user', content: [], timestamp: '' },
});

function shownMessage(message: BaseMessage): object {
  try {
    const { role, content } = fromLangChain(message);
    return { role, content };
  } catch {
    return { role: message.type, content: message.content };
  }
}

function noteAnswer(span: Span, { content, usage_metadata: usage, response_metadata: answer = {} }: Answered): void {
  const { input_tokens: read, output_tokens: written } = usage ?? {};
  const model = answer['model_name'];
  const reason = reasonOf({ response_metadata: answer });
  span.note({
    ...(isCount(read) && isCount(written) && { tokens: [read, written] }),
    ...(typeof model === 'string' && model !== '' && { name: model }),
    ...(reason && { finish: reason }),
  });
  if (span.keepsContent) span.add('output', content);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
