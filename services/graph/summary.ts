import { answeredCalls, callsOf, withoutProviderData, type Block, type Message } from '@agent-workflow/protos/message';
import type { NodeContext } from './build/context.ts';
import { nameOf } from './state/name-of.ts';
import { refuseUnknown, requireObject } from './state/refuse-unknown.ts';
import { readMedia } from './model/media.ts';

/** A context in two parts, both in its order: the messages that stay, and those that may be removed from it. */
export interface SplitContext {
  readonly kept: readonly Message[];
  readonly removed: readonly Message[];
}

/**
 * Keeps the newest `keep` messages and the system messages at the start of the context. A message with tool calls and the results of
 * these calls are kept or removed together, so a few more messages may be kept. A message with an unanswered call is kept.
 */
export function splitContext(context: readonly Message[], options: { readonly keep: number }): SplitContext {
  refuseUnknown('what splitContext is given', '', options, { keep: true });
  const { keep } = options;
  const begins = context.findIndex(({ role }) => role !== 'system');
  const lead = begins === -1 ? context.length : begins;
  if (context.length - lead <= keep) return { kept: context, removed: [] };
  const { partners, open } = pairCalls(context);
  const stays = new Set(open);
  for (let index = context.length - keep; index < context.length; index++) stays.add(index);
  // The iteration of a set reaches what is added during it, so the partners of partners are kept too.
  for (const index of stays) for (const partner of partners.get(index) ?? []) stays.add(partner);
  const isKept = (_: Message, index: number): boolean => index < lead || stays.has(index);
  return {
    kept: context.filter(isKept),
    removed: context.filter((message, index) => !isKept(message, index)),
  };
}

interface Pairs {
  /** The index of each message to the indexes of those that answer its calls, and of those whose calls it answers. */
  readonly partners: ReadonlyMap<number, readonly number[]>;
  /** The indexes of messages with an unanswered call. */
  readonly open: ReadonlySet<number>;
}

/** A result belongs to the nearest call before it with its id, because some models use an id for several calls. */
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
 * as its JSON without provider data. Base64 of an image or the like counts 1,000 tokens at most: models do not read it as text.
 */
export const countTokensApproximately = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + Math.ceil(bytesOf(withoutProviderData(message).content) / bytesPerToken), 0);

const bytesOf = (content: readonly Block[]): number =>
  content.reduce((sum, block) => {
    const { type, text } = block as { readonly type: string; readonly text?: unknown };
    return sum + Buffer.byteLength(type === 'text' && typeof text === 'string' ? text : JSON.stringify(block, cutData));
  }, 0);

const bytesOfData = 1000 * bytesPerToken;

/** For `JSON.stringify`: data that is longer than it counts is cut. */
function cutData(this: unknown, _name: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= bytesOfData) return value;
  const isData = value.startsWith('data:') || readMedia(this) !== undefined;
  return isData ? value.slice(0, bytesOfData) : value;
}

/** Bounds of a context: it is too long when it is over one of them. */
export interface ContextBounds {
  readonly messages?: number;
  /** As {@link countTokensApproximately} estimates them; the summary is not counted. */
  readonly tokens?: number;
}

/** Whether the context is over one of the bounds. Made for the conditional edge to a summarising node. */
export function contextExceeds({ context }: { readonly context: readonly Message[] }, bounds: ContextBounds): boolean {
  refuseUnknown('what contextExceeds is given', '', bounds, boundNames);
  const { messages, tokens } = bounds;
  return (
    (messages !== undefined && context.length > messages) ||
    (tokens !== undefined && countTokensApproximately(context) > tokens)
  );
}

const boundNames: Readonly<Record<keyof ContextBounds, true>> = { messages: true, tokens: true };

export interface SummarizeOptions {
  /** The node changes nothing while the context is within all of these bounds. */
  readonly whenOver: ContextBounds;
  /** How many of the newest messages are kept at least: see {@link splitContext}. */
  readonly keep: number;
  /**
   * Makes the new summary from the messages that are removed and the summary so far (`""` when there is none). It runs inside the
   * node: what it emits becomes a message of the thread, and an error that it throws fails the node.
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

/** The update that a summarising node returns. */
interface Shortened {
  readonly context_summary: string;
  readonly removed_from_context: readonly string[];
}

/**
 * Makes a node that keeps the context short. When the context is over a bound, the node removes the oldest messages from it and sets
 * `context_summary` to a summary of them. The thread's log keeps every message.
 * @throws Error when a bound or `keep` is no whole number in its range.
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

const optionNames: Readonly<Record<keyof SummarizeOptions, true>> = { whenOver: true, keep: true, summarize: true };

function checkOptions(options: SummarizeOptions): void {
  requireObject('what summarizeNode is given', options);
  refuseUnknown('what summarizeNode is given', '', options, optionNames);
  const { whenOver, keep, summarize } = options;
  requireObject('whenOver of a summarising node', whenOver);
  refuseUnknown('what summarizeNode is given', 'whenOver.', whenOver, boundNames);
  const { messages, tokens } = whenOver;
  if (messages === undefined && tokens === undefined)
    throw new Error('whenOver of a summarising node names neither messages nor tokens');
  for (const [name, value, most] of [
    ['whenOver.messages', messages, Number.MAX_SAFE_INTEGER],
    ['whenOver.tokens', tokens, Number.MAX_SAFE_INTEGER],
    ['keep', keep, messages ?? Number.MAX_SAFE_INTEGER],
  ] as const) {
    if (value === undefined && name !== 'keep') continue;
    if (value !== undefined && Number.isInteger(value) && value >= 1 && value <= most) continue;
    throw new Error(
      `${name} of a summarising node is ${String(value)}: it must be a whole number from 1 to ${String(most)}`,
    );
  }
  requireFunction(summarize);
}

function requireFunction(summarize: unknown): void {
  if (typeof summarize === 'function') return;
  throw new Error(`summarize of a summarising node must be a function, not ${nameOf(summarize)}`);
}
