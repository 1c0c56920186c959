import { answeredCalls, callsOf, type Block, type Message } from '@agent-workflow/protos/message';
import type { NodeContext } from './build/context.ts';

/** A context in two: what stays with the model, and what may go. Both are in the order of the context. */
export interface SplitContext {
  readonly kept: readonly Message[];
  readonly removed: readonly Message[];
}

/**
 * Keeps the newest `keep` messages and the system messages that the context begins with. A message that calls tools stays
 * or goes together with their results, so that a few more may stay; one with a call that nobody has answered stays.
 */
export function splitContext(context: readonly Message[], { keep }: { readonly keep: number }): SplitContext {
  const begins = context.findIndex(({ role }) => role !== 'system');
  const lead = begins === -1 ? context.length : begins;
  if (context.length - lead <= keep) return { kept: context, removed: [] };
  const { partners, open } = pairCalls(context);
  const stays = new Set(open);
  for (let index = context.length - keep; index < context.length; index++) stays.add(index);
  // A set goes on to what is added while it is walked: whoever stays has its partners stay.
  for (const index of stays) for (const partner of partners.get(index) ?? []) stays.add(partner);
  const isKept = (_: Message, index: number): boolean => index < lead || stays.has(index);
  return {
    kept: context.filter(isKept),
    removed: context.filter((message, index) => !isKept(message, index)),
  };
}

interface Pairs {
  /** Which messages call and answer each other, by their places. */
  readonly partners: ReadonlyMap<number, readonly number[]>;
  /** The places of messages with a call that nobody has answered. */
  readonly open: ReadonlySet<number>;
}

/** An answer belongs to the nearest call before it: some models give the ids of their calls out again. */
function pairCalls(context: readonly Message[]): Pairs {
  const callers = new Map<string, number>();
  const unanswered = new Map<string, number>();
  const partners = new Map<number, number[]>();
  const join = (one: number, other: number): void => {
    partners.set(one, [...(partners.get(one) ?? []), other]);
  };
  for (const [index, message] of context.entries()) {
    for (const id of answeredCalls(message)) {
      const caller = callers.get(id);
      if (caller === undefined) continue;
      unanswered.delete(`${String(caller)} ${id}`);
      join(caller, index);
      join(index, caller);
    }
    for (const id of callsOf(message)) {
      callers.set(id, index);
      unanswered.set(`${String(index)} ${id}`, index);
    }
  }
  return { partners, open: new Set(unanswered.values()) };
}

const bytesPerToken = 4;

/**
 * Estimates the tokens of messages: of each, four bytes of UTF-8 a token, rounded up. Text counts as it is, any other block
 * as its JSON.
 */
export const countTokensApproximately = (messages: readonly Message[]): number =>
  messages.reduce((sum, { content }) => sum + Math.ceil(bytesOf(content) / bytesPerToken), 0);

const bytesOf = (content: readonly Block[]): number =>
  content.reduce((sum, block) => {
    const { type, text } = block as { readonly type: string; readonly text?: unknown };
    return sum + Buffer.byteLength(type === 'text' && typeof text === 'string' ? text : JSON.stringify(block));
  }, 0);

/** Bounds of a context: it is too long when it is over one of them. */
export interface ContextBounds {
  readonly messages?: number;
  /** As {@link countTokensApproximately} estimates them; the summary is not counted. */
  readonly tokens?: number;
}

/** Whether the context is over one of the bounds: what a conditional edge to a summarising node asks. */
export const contextExceeds = (
  { context }: { readonly context: readonly Message[] },
  { messages, tokens }: ContextBounds,
): boolean =>
  (messages !== undefined && context.length > messages) ||
  (tokens !== undefined && countTokensApproximately(context) > tokens);

export interface SummarizeOptions {
  /** The context is left as it is until it is over one of these. */
  readonly whenOver: ContextBounds;
  /** How many of the newest messages stay: see {@link splitContext}. */
  readonly keep: number;
  /**
   * Puts messages that are to leave the context, and the summary of those that left before (`""` when there are none), into
   * one new summary. It runs in a node: what it emits becomes a message of the thread, and what it throws fails the node.
   */
  readonly summarize: (
    messages: readonly Message[],
    previousSummary: string,
    context: NodeContext,
  ) => string | Promise<string>;
}

/** What a summarising node reads of any graph's state. */
interface Conversation {
  readonly context: readonly Message[];
  readonly context_summary: string;
}

/** What it changes. */
interface Shortened {
  readonly context_summary: string;
  readonly removed_from_context: readonly string[];
}

/**
 * Makes a node that keeps the context short: over a bound, it has the oldest messages summarised and takes them out of the
 * context, and `context_summary` becomes their summary. The thread's log keeps every message.
 * @throws Error when a bound or `keep` is out of its own bounds.
 * @example graph.addNode('summarize', summarizeNode({ whenOver: { messages: 60 }, keep: 20, summarize: askModel }))
 */
export function summarizeNode(
  options: SummarizeOptions,
): (state: Conversation, context: NodeContext) => Promise<Shortened | undefined> {
  checkOptions(options);
  const { whenOver, keep, summarize } = options;
  return async (state, ctx) => {
    if (!contextExceeds(state, whenOver)) return undefined;
    const { removed } = splitContext(state.context, { keep });
    if (removed.length === 0) return undefined;
    return {
      context_summary: await summarize(removed, state.context_summary, ctx),
      removed_from_context: removed.map(({ message_id: id }) => id),
    };
  };
}

function checkOptions({ whenOver: { messages, tokens }, keep }: SummarizeOptions): void {
  if (messages === undefined && tokens === undefined)
    throw new Error('whenOver of a summarising node names neither messages nor tokens');
  for (const [name, value, most] of [
    ['whenOver.messages', messages, Number.MAX_SAFE_INTEGER],
    ['whenOver.tokens', tokens, Number.MAX_SAFE_INTEGER],
    ['keep', keep, messages ?? Number.MAX_SAFE_INTEGER],
  ] as const) {
    if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= most)) continue;
    throw new Error(
      `${name} of a summarising node is ${String(value)}: it must be a whole number from 1 to ${String(most)}`,
    );
  }
}
