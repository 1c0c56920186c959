const KiB = 1024;
const MiB = 1024 * KiB;

/**
 * Every bound on what one thing may weigh, in bytes of JSON unless named otherwise. They are checked before a write,
 * because a store answers a too large one late and unclearly (Cassandra with a timeout).
 */
export const sizes = {
  /** Default of `MAX_BODY_BYTES`: one request body. */
  body: 4 * MiB,
  /** One message. */
  message: 2 * MiB,
  /** All state fields of a thread together, its messages not counted. */
  state: 2 * MiB,
  /** What one step adds: changed fields and messages together. */
  step: 3 * MiB,
  /** The messages of a thread that its model sees; the message log itself has no bound. */
  context: 8 * MiB,
  /** One page of a list: what does not fit is on the next page. */
  page: 4 * MiB,
  /** `metadata` of a thread, of a checkpoint, and `config` of a run: each. */
  metadata: 256 * KiB,
  /** The content of one memory, its metadata, and the query of a search: each. */
  memory: 64 * KiB,
  /** One gRPC message, either way. */
  rpc: 16 * MiB,
  /** Runs that may wait on one thread (a count). */
  queuedRuns: 1000,
  /** Path and query of a request, in bytes. */
  url: 8 * KiB,
  /** Request line and headers together, in bytes. */
  headers: 16 * KiB,
  /** Levels of nesting of a request's JSON: far below what a recursive walk further in could overflow on (a count). */
  depth: 128,
  /** Keys of all objects in a request's JSON together (a count). */
  keys: 100_000,
  /** Messages of one request (a count). */
  messages: 1000,
  /** Content blocks of one message, and tool calls beside them (a count). */
  blocks: 1000,
  /** Tools that one request declares (a count). */
  tools: 256,
} as const;
