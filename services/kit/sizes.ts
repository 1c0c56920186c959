import { invalid, type ErrorDetail } from './errors.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/**
 * Every size limit, in bytes of JSON unless the comment names another unit. Limits are checked before a write, because a store
 * refuses a write that is too large late and unclearly (Cassandra with a timeout).
 */
export const sizes = {
  /** Default of `MAX_BODY_BYTES`: one request body. */
  body: 4 * MiB,
  /** One message. */
  message: 2 * MiB,
  /** What providers of models sent for themselves in one message. */
  providerData: 256 * KiB,
  /** An image, sound, film or document that a model is sent, in bytes; a document of text; and all of one question together. */
  mediaPart: 10 * MiB,
  mediaText: 1 * MiB,
  questionMedia: 20 * MiB,
  /** All state fields of a thread together, its messages not counted. */
  state: 2 * MiB,
  /** What one step adds: changed fields and messages together. */
  step: 3 * MiB,
  /** Messages that one change of a thread adds, of a step or of a request (a count). Cassandra takes 65,535 statements in a batch, and each message is two. */
  stepMessages: 10_000,
  /** Fields that one change of a thread writes, of a step or of a request (a count). */
  stepFields: 30_000,
  /**
   * The context of a thread: the messages that the model sees, each counted with one byte for its separator. Steps and direct writes
   * are refused above this. The message log has no limit.
   */
  context: 8 * MiB,
  /** A context together with the input of the claimed run: the limit is higher by one body, so that the graph can still summarise. */
  contextWithInput: 12 * MiB,
  /** All messages of one request, as they are stored: ids and times are added to what the body holds. */
  input: 5 * MiB,
  /** `context_summary`. */
  summary: 256 * KiB,
  /** One page of a list; what does not fit is on the next page. */
  page: 4 * MiB,
  /** `metadata` of a thread, of a checkpoint, `config` of a request, and the claims of the caller: each. */
  metadata: 256 * KiB,
  /** `config` as nodes see it: that of the request merged with the claims of the caller. */
  config: 512 * KiB,
  /** The tools of one run together: those of its request and those that were set up. */
  toolsTogether: 1 * MiB,
  /** The schema of the arguments of one tool that an MCP server or a caller declares. */
  toolSchema: 64 * KiB,
  /** `resume`: the answer to what a run asked. */
  resume: 1 * MiB,
  /** What a run keeps of its request for those who read it later. */
  shownRequest: 64 * KiB,
  /** The nodes before and after which a run stops, together. */
  breakpoints: 64 * KiB,
  /** The continuation between two steps: joins, questions and their answers, positions of sub-graphs. */
  progress: 3 * MiB,
  /** The record of a tool call, or of the result of a branch: each is part of what one step adds. */
  toolRecord: 3 * MiB,
  /** What a node or tool gives to one call of `ctx.progress`. */
  progressEvent: 64 * KiB,
  /** The tokens of a run by model. */
  usage: 32 * KiB,
  /** The undo record of one change of a thread: what the change overwrote. */
  undo: 12 * MiB,
  /** What one change of a thread writes together with what it overwrites: Cassandra takes no batch of more than 16 MiB. */
  change: 15 * MiB,
  /** The messages that a fork copies, together. */
  forkedMessages: 256 * MiB,
  /** Rows that one change of a thread writes (a count). */
  changeRows: 60_000,
  /** The list of open tool calls, the list of next nodes, and the list of open questions: each. */
  waiting: 256 * KiB,
  /** The content of one memory, its metadata, and the query of a search: each. */
  memory: 64 * KiB,
  /** The filters and the options of a search that a worker of a pool makes: each. */
  search: 1 * MiB,
  /** One gRPC message, in either direction: more than the sum of the limits of the largest request. */
  rpc: 32 * MiB,
  /** Runs that may wait on one thread (a count). */
  queuedRuns: 1000,
  /** Path and query of a request, in bytes. */
  url: 8 * KiB,
  /** Request line and headers together, in bytes. */
  headers: 16 * KiB,
  /** Levels of nesting of a request's JSON: far fewer than would overflow the stack of a recursive function (a count). */
  depth: 128,
  /** Keys of all objects in a request's JSON together (a count). */
  keys: 100_000,
  /** Lists and objects of a request's JSON together: an empty one has two bytes, and takes fifty times that when it is read (a count). */
  nested: 300_000,
  /** Messages of one request (a count). */
  messages: 1000,
  /** Content blocks of one message, and tool calls beside them (a count). */
  blocks: 1000,
  /** Files that the messages of one request name (a count). */
  filesNamed: 100,
  /** Files of one step's messages that are kept for its thread (a count); those after them are not. */
  filesNamedByStep: 1000,
  /** The name of a file, and each of its types, in bytes. */
  filename: 255,
  /** Agents that are registered (a count). */
  agents: 100,
  /** Revisions of an agent that are kept (a count). */
  revisions: 50,
  /** The description of an agent. */
  agentDescription: 4 * KiB,
  /** Of a registered revision: its drawing, and its fields: each. Its tools have the bound of those of a run. */
  drawing: 512 * KiB,
  /** Names of the nodes of a registered revision, and how many there are (a count). */
  nodeNames: 256 * KiB,
  nodes: 2000,
  /** An object that an owner keeps beside threads: a schedule, a webhook, a delivery with its body, a trigger, an assistant. */
  resource: 160 * KiB,
  /** The body of what is delivered to a webhook. */
  webhookBody: 64 * KiB,
  /** Address, secret and events that a request gives with its run. */
  webhookTarget: 4 * KiB,
  /** The id of such an object, in bytes. */
  resourceId: 255,
  /** The value of an item that an owner stores under a namespace and a key, and the record of such an item. */
  item: 1 * MiB,
  itemRow: 1 * MiB + 16 * KiB,
  /** Namespace and key of such an item together, in bytes. */
  itemId: 1 * KiB,
  /** What a run may do in scopes of memories, as its start says it. */
  knowledge: 32 * KiB,
  /** Scopes of memories that the operator declares (a count): a header of each call of a pooled worker names those of its run. */
  scopes: 64,
  /** Tools that one request declares (a count). */
  tools: 256,
} as const;

/** The bound of a run's options: the sum of the bounds of their parts, which are checked where a run is started. */
export const runOptionsBytes =
  sizes.state +
  2 * sizes.config +
  sizes.metadata +
  sizes.toolsTogether +
  sizes.resume +
  sizes.breakpoints +
  sizes.shownRequest +
  64 * 1024;

/** The bytes that JSON adds to a text around it. */
export const jsonQuotes = 2;

export const bytesOfTexts = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

/** The end of a sentence that refuses a size. */
export const bytesOver = (bytes: number, bound: number): string => `${String(bytes)} bytes, more than ${String(bound)}`;

/** @throws Invalid naming the field, its size and the bound. */
export function refuseOver(bytes: number, bound: number, at: ErrorDetail['field']): void {
  if (bytes > bound) throw invalid(at, `has ${bytesOver(bytes, bound)}`, 'too_large');
}

/** @throws Invalid naming the field, the number of its entries and the bound. */
export function refuseMany(count: number, bound: number, at: ErrorDetail['field']): void {
  if (count > bound) throw invalid(at, `has ${String(count)} entries, more than ${String(bound)}`, 'too_long');
}
