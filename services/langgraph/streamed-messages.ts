import { BaseCallbackHandler, type HandleLLMNewTokenCallbackFields } from '@langchain/core/callbacks/base';
import type { BaseMessage } from '@langchain/core/messages';
import type { LLMResult } from '@langchain/core/outputs';
import type { Block, NodeContext } from '@agent-workflow/graph';
import { chunksOf, isReasoning, type PublishedChunks } from '@agent-workflow/graph/state/message-chunks';
import { fromLangChain, isMessage } from './from-lang-chain.ts';

type Started = Parameters<NonNullable<BaseCallbackHandler['handleChatModelStart']>>;
type NodeStarted = Parameters<NonNullable<BaseCallbackHandler['handleChainStart']>>;
type Opened = ReturnType<NodeContext['openMessage']>;
type Role = Parameters<NodeContext['openMessage']>[0];

/** Tags by which authors of LangGraph keep the text of a model from streams. */
const silentTags = ['nostream', 'langsmith:nostream'];

/** A message that was streamed: its id in LangGraph, the one that it has in the thread, and its text. */
export interface Streamed {
  readonly id: string;
  readonly messageId: string;
  readonly text: string;
}

/** Where a sub-graph makes a message. */
interface InnerPlace {
  /** The namespace of the sub-graph, part by part. */
  readonly ns: readonly string[];
  readonly node: string;
  /** What LangGraph calls the node there. */
  readonly of: string;
}

export interface StreamedOptions {
  /** Opens a message of a node of the graph. */
  readonly openMessage: (node: string, role: Role | undefined, place: InnerPlace | undefined) => Opened;
  /** Called with the id of a message that comes with the end of the super-step, and that a sub-graph has made. */
  readonly noteInner?: ((id: string, node: string, place: InnerPlace) => void) | undefined;
  /** `null`: nodes give no messages. */
  readonly messagesKey: string | null;
  /** The LangGraph nodes of which messages are streamed; absent: all. */
  readonly nodes: readonly string[] | undefined;
  /** Whether the graph that holds a node is the whole one, or a sub-graph whose messages are those of the whole. */
  readonly isShared: (namespace: string) => boolean;
}

/**
 * Streams what the nodes of a super-step make: the text of models as it comes, and the messages of each node at its end. Models and nodes
 * call it: what LangGraph streams passes a queue of the process, and what is still in it when a super-step ends is lost.
 * A message with an id of the author's comes whole with the end of the super-step: another attempt would stream it again.
 */
export class StreamedMessages extends BaseCallbackHandler {
  override readonly name = 'agent-workflow';
  /** Each chunk is emitted before the model or the graph goes on. */
  override awaitHandlers = true;
  /** Models stream though nodes call `invoke`. */
  readonly lc_prefer_streaming = true;
  readonly #options: StreamedOptions;
  /** Calls of models whose text may be streamed, with the id of what was streamed. */
  readonly #calls = new Map<string, string | undefined>();
  /** The nodes of the graph that call models, by the calls. */
  readonly #makers = new Map<string, string>();
  /** Where those calls, and those nodes, are within sub-graphs. */
  readonly #places = new Map<string, InnerPlace | undefined>();
  /** Runs of nodes whose messages may be streamed, with the nodes of the graph in which they run. */
  readonly #nodes = new Map<string, string>();
  /** What is streamed of each message, by its id in LangGraph. */
  readonly #drafts = new Map<string, Draft>();
  /** What was streamed of messages whose ids other messages have taken. */
  readonly #replaced: Draft[] = [];
  /** The calls of models, by the ids of their answers. */
  readonly #answers = new Map<string, string>();

  /** The ids of answers of which no node has made a message yet, by their text. */
  readonly #texts = new Map<string, string>();

  constructor(options: StreamedOptions) {
    super();
    this.#options = options;
  }

  /** What was streamed. */
  streamed(): readonly Streamed[] {
    const replaced = this.#replaced.map((draft) => [draft.opened.messageId, draft] as const);
    return [...replaced, ...this.#drafts].map(([id, { opened, text }]) => ({ id, messageId: opened.messageId, text }));
  }

  override handleChatModelStart(...[, , call, , , tags = [], metadata = {}]: Started): void {
    if (!this.#isChosen(metadata) || silentTags.some((tag) => tags.includes(tag))) return;
    this.#calls.set(call, undefined);
    this.#makers.set(call, outerNode(metadata));
    this.#places.set(call, innerPlace(metadata));
  }

  override handleLLMNewToken(
    ...[token, , call, , , fields]: [string, unknown, string, string?, string[]?, HandleLLMNewTokenCallbackFields?]
  ): void {
    const message = fields?.chunk && 'message' in fields.chunk ? fields.chunk.message : undefined;
    const text = message?.text ?? token;
    if (text === '' || !this.#calls.has(call)) return;
    const id = this.#calls.get(call) ?? message?.id ?? `run-${call}`;
    this.#calls.set(call, id);
    this.#draft(id, call).emit(text);
  }

  override handleLLMEnd({ generations }: LLMResult, call: string): void {
    const isStreamed = this.#calls.has(call);
    const before = this.#calls.get(call);
    this.#calls.delete(call);
    const generation = generations[0]?.[0];
    const answer =
      generation && 'message' in generation && isMessage(generation.message) ? generation.message : undefined;
    const id = answer?.id ?? before;
    if (!isStreamed || id === undefined) return;
    this.#answers.set(id, call);
    const draft = before === undefined ? undefined : this.#drafts.get(before);
    if (!draft) return;
    this.#texts.set(draft.text, id);
    if (id === before) return;
    this.#drafts.delete(before ?? '');
    this.#drafts.set(id, draft);
  }

  override handleLLMError(_error: unknown, call: string): void {
    this.#calls.delete(call);
  }

  override handleChainStart(...[, , run, , , metadata = {}, , name]: NodeStarted): void {
    const namespace = metadata['langgraph_checkpoint_ns'] ?? metadata['checkpoint_ns'];
    const isNode = name !== undefined && name === metadata['langgraph_node'];
    if (!isNode || typeof namespace !== 'string' || !this.#isChosen(metadata)) return;
    if (!this.#options.isShared(namespace)) return;
    this.#nodes.set(run, outerNode(metadata));
    this.#places.set(run, innerPlace(metadata));
  }

  override handleChainEnd(output: unknown, run: string): void {
    const node = this.#nodes.get(run);
    if (node === undefined) return;
    this.#nodes.delete(run);
    const { messagesKey } = this.#options;
    if (messagesKey !== null)
      for (const message of messagesOf(output, messagesKey)) this.#add(message, { node, place: this.#places.get(run) });
  }

  override handleChainError(_error: unknown, run: string): void {
    this.#nodes.delete(run);
  }

  #isChosen(metadata: Readonly<Record<string, unknown>>): boolean {
    return this.#options.nodes?.includes(String(metadata['langgraph_node'])) ?? true;
  }

  /** Streams what a message of a node has beside the text of its model. */
  #add(message: BaseMessage, maker: Maker): void {
    const { role, content } = fromLangChain(message);
    const draft = this.#draftOf(message, { role, ...maker });
    if (!draft || !message.text.startsWith(draft.text)) return;
    for (const chunk of chunksOf({ content }, draft.published())) draft.emit(chunk);
  }

  #draftOf(message: BaseMessage, { role, node, place }: Maker & { readonly role: Role }): Draft | undefined {
    const { id } = message;
    if (id === undefined) {
      const made = message.type === 'ai' ? this.#madeOf(message.text) : undefined;
      const draft = made ?? new Draft(this.#options.openMessage(node, role, place));
      message._updateId(draft.opened.messageId);
      this.#drafts.set(draft.opened.messageId, draft);
      return draft;
    }
    const call = this.#answers.get(id);
    const draft = call === undefined ? this.#drafts.get(id) : this.#draft(id, call);
    if (!draft && place) this.#options.noteInner?.(id, node, place);
    if (draft && this.#texts.get(draft.text) === id) this.#texts.delete(draft.text);
    return draft;
  }

  /** The text of a model of which a node has made a message of its own. */
  #madeOf(text: string): Draft | undefined {
    const id = this.#texts.get(text);
    const draft = id === undefined ? undefined : this.#drafts.get(id);
    if (id === undefined || !draft) return undefined;
    this.#texts.delete(text);
    this.#drafts.delete(id);
    return draft;
  }

  /** The message of this id. Another call of a model that gives the same id makes another message. */
  #draft(id: string, call: string): Draft {
    const known = this.#drafts.get(id);
    if (known?.call === call) return known;
    if (known) this.#replaced.push(known);
    const draft = new Draft(
      this.#options.openMessage(this.#makers.get(call) ?? '', undefined, this.#places.get(call)),
      call,
    );
    this.#drafts.set(id, draft);
    return draft;
  }
}

/** The node that gave a message. */
interface Maker {
  readonly node: string;
  readonly place: InnerPlace | undefined;
}

/** Where something runs within a sub-graph; `undefined` in the graph itself. */
function innerPlace(metadata: Readonly<Record<string, unknown>>): InnerPlace | undefined {
  const { langgraph_checkpoint_ns: namespace, langgraph_node: node } = metadata;
  const parts = typeof namespace === 'string' ? namespace.split('|') : [];
  if (parts.length < 2) return undefined;
  return { ns: parts.slice(0, -1), node: String(node), of: parts.at(-1) ?? '' };
}

/** The node of the graph itself in which something runs: the first in the namespace of that. */
function outerNode(metadata: Readonly<Record<string, unknown>>): string {
  const namespace = metadata['langgraph_checkpoint_ns'] ?? metadata['checkpoint_ns'];
  const [first = ''] = typeof namespace === 'string' ? namespace.split('|') : [];
  return first.replace(/:[^:]*$/, '');
}

class Draft {
  readonly opened: Opened;
  /** The call of the model that makes it, if one does. */
  readonly call: string | undefined;
  text = '';
  reasoning = 0;
  blocks = 0;

  constructor(opened: Opened, call?: string) {
    this.opened = opened;
    this.call = call;
  }

  emit(chunk: string | Block): void {
    if (typeof chunk === 'string') this.text += chunk;
    else if (isReasoning(chunk)) this.reasoning += chunk.text.length;
    else this.blocks += 1;
    this.opened.emit(chunk);
  }

  published(): PublishedChunks {
    return { characters: this.text.length, reasoning: this.reasoning, blocks: this.blocks };
  }
}

/** The messages that a node returned, in an update, in a command, or in a list of both. */
function messagesOf(output: unknown, key: string): readonly BaseMessage[] {
  if (Array.isArray(output)) return output.flatMap((one) => (isMessage(one) ? [one] : messagesOf(one, key)));
  if (typeof output !== 'object' || output === null) return [];
  if ('lg_name' in output && 'update' in output) return messagesOf(output.update, key);
  const update = (output as Readonly<Record<string, unknown>>)[key];
  const list: readonly unknown[] = Array.isArray(update) ? update : [update];
  return list.filter(isMessage).filter(({ type }) => type !== 'remove');
}
