import { fromUnknown, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import { textsOf } from '@agent-workflow/protos/event-parts';
import type { Execution, FollowRequest, RunEvent, RunEvents } from '@agent-workflow/protos/execution';
import { locate, toChunks, type Chunk, type Position } from './chunks.ts';
import type { Framing } from './framing.ts';
import { createStreamChunks, type ToStreamChunk } from './stream-chunk.ts';

/**
 * Reads runs for the streams of this process. Readers of one run in one framing that stand near each other share a feed:
 * one call to the execution service, whose events are encoded once. A feed keeps what its slowest reader has not taken,
 * within bounds in bytes; a reader that is further behind holds its position alone, and reads again from the event log
 * when it goes on.
 */
export interface Feeds {
  /** A reader of the run behind event `after`. It is disposed of when its caller is gone. */
  readonly open: (request: FollowRequest, framing: Framing, call: Call) => Reader;
  /** What is kept for readers, in bytes. */
  readonly keptBytes: () => number;
}

export interface Reader extends Disposable {
  /**
   * The next bytes, once there are any; `undefined` behind the terminal event. Called when the bytes before were written.
   * @throws what the execution service throws, and `Cancelled` when the caller is gone.
   */
  readonly next: () => Promise<Taken | undefined>;
}

export interface Taken {
  readonly bytes: Uint8Array;
  /** Whether they end where an event ends. */
  readonly isWhole: boolean;
}

export interface FeedBounds {
  /** What a socket is handed at once. */
  readonly chunkBytes: number;
  /** What one feed keeps for readers that are behind; a batch that is just read is kept whole. */
  readonly feedBytes: number;
  /** What all feeds keep together. */
  readonly totalBytes: number;
}

const usualBounds: FeedBounds = { chunkBytes: 64 * 1024, feedBytes: 1024 * 1024, totalBytes: 16 * 1024 * 1024 };

/** Feeds on this execution service. */
export function createFeeds({ follow }: Pick<Execution, 'follow'>, bounds: FeedBounds = usualBounds): Feeds {
  const feedsOf = new Map<string, Set<Feed>>();
  let keptBytes = 0;
  let uses = 0;

  const count = (feed: Feed, bytes: number): void => {
    feed.bytes += bytes;
    keptBytes += bytes;
  };

  const openFeed = (key: string, request: FollowRequest, framing: Framing, call: Call): Feed => {
    const controller = new AbortController();
    const events = follow(request, { deadline: call.deadline, signal: controller.signal });
    const feed: Feed = {
      key,
      framing,
      runId: request.runId,
      toStreamChunk: undefined,
      head: request.after,
      source: events[Symbol.asyncIterator](),
      controller,
      chunks: [],
      base: 0,
      bytes: 0,
      batchBytes: 0,
      readers: new Set(),
      isPulling: false,
      isOver: false,
      error: undefined,
      usedAt: ++uses,
    };
    const feeds = feedsOf.get(key);
    if (feeds) feeds.add(feed);
    else feedsOf.set(key, new Set([feed]));
    return feed;
  };

  /** Ends a feed. Readers that it still has hold their positions, and go on with another. */
  const close = (feed: Feed): void => {
    const feeds = feedsOf.get(feed.key);
    feeds?.delete(feed);
    if (feeds?.size === 0) feedsOf.delete(feed.key);
    for (const reader of feed.readers) reader.feed = undefined;
    feed.readers.clear();
    feed.chunks = [];
    count(feed, -feed.bytes);
    feed.batchBytes = 0;
    if (feed.isOver || feed.error) return;
    feed.controller.abort();
    feed.source.return?.().catch(() => undefined);
  };

  /** Drops chunks at the front that nobody waits for. */
  const trim = (feed: Feed): void => {
    let passed = 0;
    for (const { readers, chunk } of feed.chunks) {
      if (readers > 0) break;
      if (!chunk.isView()) count(feed, -chunk.size);
      passed++;
    }
    if (passed === 0) return;
    feed.chunks.splice(0, passed);
    feed.base += passed;
  };

  const leave = (state: ReaderState): void => {
    const { feed, index } = state;
    if (!feed) return;
    state.feed = undefined;
    feed.readers.delete(state);
    if (feed.readers.size === 0) {
      close(feed);
      return;
    }
    for (let at = index - feed.base; at < feed.chunks.length; at++) release(feed, at);
    trim(feed);
  };

  const enter = (state: ReaderState, feed: Feed, index: number): void => {
    state.feed = feed;
    state.index = index;
    feed.readers.add(state);
    for (let at = index - feed.base; at < feed.chunks.length; at++) {
      const kept = feed.chunks[at];
      if (kept) kept.readers++;
    }
  };

  /** Leaves readers behind that lag so far that more would be kept for them than a feed may. */
  const leaveBehind = (feed: Feed): void => {
    let bytes = feed.chunks.reduce((sum, { chunk }) => sum + chunk.size, 0);
    let index = feed.base;
    for (const { chunk } of feed.chunks) {
      if (bytes <= bounds.feedBytes) break;
      bytes -= chunk.size;
      index++;
    }
    if (index === feed.base) return;
    for (const state of [...feed.readers]) if (state.index < index) leave(state);
  };

  /** Closes the feeds that were not read from for longest until what is kept is within its bound. */
  const shed = (busy: Feed): void => {
    while (keptBytes > bounds.totalBytes) {
      let idle: Feed | undefined;
      for (const feeds of feedsOf.values()) {
        for (const feed of feeds) {
          const mayGo = feed !== busy && !feed.isPulling && feed.bytes > 0;
          if (mayGo && (!idle || feed.usedAt < idle.usedAt)) idle = feed;
        }
      }
      if (!idle) return;
      close(idle);
    }
  };

  const take = (feed: Feed, { events, scope }: RunEvents): void => {
    const batchBytes = heldBytes(events);
    if (scope) feed.toStreamChunk ??= createStreamChunks(scope);
    const { framing, toStreamChunk, runId, head: after } = feed;
    if (!toStreamChunk) throw new Error(`the first reply does not say whose the events of run "${runId}" are`);
    const chunks = toChunks({ framing, toStreamChunk, runId, after, chunkBytes: bounds.chunkBytes }, events);
    feed.head = events.at(-1)?.seq ?? feed.head;
    feed.usedAt = ++uses;
    // The service's side holds its batch until the next one is asked for; so do the chunks that are parts of a large event.
    count(feed, batchBytes);
    feed.batchBytes = batchBytes;
    for (const chunk of chunks) {
      feed.chunks.push({ chunk, readers: feed.readers.size });
      if (!chunk.isView()) count(feed, chunk.size);
    }
    shed(feed);
  };

  /** What was read last is held no longer; what is left of it for readers that are behind has memory of its own. */
  const dropBatch = (feed: Feed): void => {
    for (const { chunk } of feed.chunks) {
      if (!chunk.isView()) continue;
      chunk.detach();
      count(feed, chunk.size);
    }
    count(feed, -feed.batchBytes);
    feed.batchBytes = 0;
  };

  /** Reads on for the readers at the head of the feed. */
  const pull = async (feed: Feed): Promise<void> => {
    feed.isPulling = true;
    leaveBehind(feed);
    dropBatch(feed);
    try {
      const item = await feed.source.next();
      if (feed.controller.signal.aborted) return;
      if (item.done === true) feed.isOver = true;
      else take(feed, item.value);
    } catch (error) {
      feed.error = fromUnknown(error);
    } finally {
      feed.isPulling = false;
      for (const { wake } of [...feed.readers]) wake?.();
    }
  };

  const find = (key: string, state: ReaderState): Found | undefined => {
    for (const feed of feedsOf.get(key) ?? []) {
      if (feed === state.feed) return undefined;
      if (feed.error !== undefined) continue;
      if (feed.head === state.position.after && !feed.isOver) return { feed, index: feed.base + feed.chunks.length };
      for (const [at, { chunk }] of feed.chunks.entries()) {
        if (locate(chunk, state.position) !== undefined) return { feed, index: feed.base + at };
      }
    }
    return undefined;
  };

  const open: Feeds['open'] = (request, framing, call) => {
    const { owner, runId } = request;
    const key = JSON.stringify([framing.name, owner, runId]);
    const state: ReaderState = {
      feed: undefined,
      index: 0,
      position: { after: request.after, offset: 0 },
      wake: undefined,
    };
    let first: FollowRequest | undefined = request;
    let isGone = call.signal.aborted;
    const onGone = (): void => {
      isGone = true;
      leave(state);
      state.wake?.();
    };
    call.signal.addEventListener('abort', onGone, { once: true });

    /** Goes on with an older feed that reaches back to the reader's position, or with one of its own. */
    const attach = (): Feed => {
      const found = find(key, state);
      if (found) {
        leave(state);
        enter(state, found.feed, found.index);
      }
      const feed = state.feed ?? openFeed(key, first ?? { owner, runId, after: state.position.after }, framing, call);
      if (!state.feed) enter(state, feed, feed.base);
      first = undefined;
      return feed;
    };

    const wait = async (feed: Feed): Promise<void> => {
      await new Promise<void>((resolve) => {
        state.wake = resolve;
        if (!feed.isPulling) void pull(feed);
      });
      state.wake = undefined;
    };

    /** What the chunk holds for the reader; `undefined` when it has all of it. */
    const pass = (feed: Feed, chunk: Chunk): Taken | undefined => {
      const { position } = state;
      const start = isSame(chunk.from, position) ? 0 : locate(chunk, position);
      if (start === undefined && !isWithin(chunk, position)) {
        // What was sent of this event is no part of what the log holds now.
        throw unavailable('the event log was made again while it was read');
      }
      feed.usedAt = ++uses;
      release(feed, state.index - feed.base);
      state.index++;
      trim(feed);
      if (start === undefined) return undefined;
      state.position = chunk.to;
      const bytes = chunk.bytes();
      return { bytes: start === 0 ? bytes : bytes.subarray(start), isWhole: chunk.to.offset === 0 };
    };

    const next: Reader['next'] = async () => {
      for (;;) {
        if (isGone) throw new ServiceError('Cancelled', 'the caller went away');
        let { feed } = state;
        if (!feed || state.index - feed.base === feed.chunks.length) feed = attach();
        const kept = feed.chunks[state.index - feed.base];
        if (kept) {
          const taken = pass(feed, kept.chunk);
          if (taken) return taken;
        } else if (feed.isOver) {
          return undefined;
        } else if (feed.error === undefined) {
          await wait(feed);
        } else {
          const { error } = feed;
          leave(state);
          // A feed ends with the deadline of the reader that opened it; the others go on with another.
          if (error.code !== 'Timeout' || Date.now() >= call.deadline) throw error;
        }
      }
    };

    return {
      next,
      [Symbol.dispose]: () => {
        call.signal.removeEventListener('abort', onGone);
        leave(state);
      },
    };
  };

  return { open, keptBytes: () => keptBytes };
}

interface Kept {
  readonly chunk: Chunk;
  /** How many readers of the feed have not taken it. */
  readers: number;
}

interface Feed {
  readonly key: string;
  readonly framing: Framing;
  readonly runId: string;
  /** Known from the first reply on. */
  toStreamChunk: ToStreamChunk | undefined;
  readonly source: AsyncIterator<RunEvents, unknown>;
  readonly controller: AbortController;
  /** The number of the last event that was read. */
  head: number;
  /** What was read and is not taken by all, in order; the first has index `base`. */
  chunks: Kept[];
  base: number;
  /** What the feed costs: its chunks and the batch that the service's side holds. */
  bytes: number;
  batchBytes: number;
  readonly readers: Set<ReaderState>;
  isPulling: boolean;
  isOver: boolean;
  error: ServiceError | undefined;
  /** Grows with each use of any feed. */
  usedAt: number;
}

interface ReaderState {
  feed: Feed | undefined;
  /** Of the chunk in the feed that the reader takes next. */
  index: number;
  position: Position;
  wake: (() => void) | undefined;
}

interface Found {
  readonly feed: Feed;
  readonly index: number;
}

function release({ chunks }: Feed, at: number): void {
  const kept = chunks[at];
  if (kept) kept.readers--;
}

/** A buffer up to this size is one that small events share with others. */
const sharedBufferBytes = 128 * 1024;

/** What is held of memory by holding these events: of an event that is a part of a larger buffer, all of that. */
function heldBytes(events: readonly RunEvent[]): number {
  let bytes = 0;
  let last: ArrayBufferLike | undefined;
  for (const event of events) {
    for (const { buffer, byteLength } of textsOf(event)) {
      // What was read together follows each other.
      if (buffer.byteLength <= sharedBufferBytes) bytes += byteLength;
      else if (buffer !== last) bytes += buffer.byteLength;
      last = buffer;
    }
  }
  return bytes;
}

const isSame = (one: Position, other: Position): boolean =>
  one.after === other.after && one.offset === other.offset && one.seq === other.seq;

/** Whether the chunk is an earlier part of the event in which the position is. */
const isWithin = ({ from, seqs }: Chunk, { after, seq }: Position): boolean =>
  from.after === after && seq !== undefined && seqs[0] === seq;
