import { fromUnknown, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Execution, FollowRequest, RunEvents } from '@agent-workflow/protos/execution';
import { locate, toSegments, type Segment, type ReadOffset } from './segments.ts';
import type { StreamExtras } from '../http/endpoint.ts';
import type { Framing, StreamEvent, StreamEvents, ToEventJson } from '../http/framing.ts';

/**
 * Reads runs for the streams of this process. Readers of one run in one framing with nearly the same offset share a feed: one
 * call to the execution service, whose events are encoded once. A feed buffers what its slowest reader has not read, within
 * bounds in bytes. A reader that is further behind leaves the feed and keeps only its offset; when it continues, it reads from
 * the event log again.
 */
export interface Feeds {
  /** A reader of the run from after event `after`. It must be disposed when its caller has disconnected. */
  readonly open: (request: FollowRequest, framing: Framing, call: Call, extras?: StreamExtras) => Reader;
  /** The bytes of all buffers of all feeds. */
  readonly bufferedBytes: () => number;
}

export interface Reader extends Disposable {
  /**
   * Waits for the next bytes; `undefined` after the terminal event. Call it when the bytes before were written.
   * @throws what the execution service throws; `Cancelled` when the caller has disconnected.
   */
  readonly next: () => Promise<StreamBytes | undefined>;
}

export interface StreamBytes {
  readonly bytes: Uint8Array;
  /** Whether the bytes end at the end of an event. */
  readonly isWhole: boolean;
}

interface FeedBounds {
  /** The largest segment that is written to a socket at once. */
  readonly segmentBytes: number;
  /** What one feed buffers for slower readers, beside the batch of events that was read last. */
  readonly feedBytes: number;
  /** What all feeds buffer together. */
  readonly totalBytes: number;
}

const defaultBounds: FeedBounds = { segmentBytes: 64 * 1024, feedBytes: 1024 * 1024, totalBytes: 16 * 1024 * 1024 };

/** Feeds on this execution service. */
export function createFeeds(execution: Pick<Execution, 'follow'>, bounds: FeedBounds = defaultBounds): Feeds {
  const feeds = createFeedSet(execution, bounds);
  return {
    open: (request, framing, call, extras) => openReader(feeds, { request, framing, call, extras }),
    bufferedBytes: feeds.bufferedBytes,
  };
}

/** How a run is read. */
interface Reading {
  readonly request: FollowRequest;
  readonly framing: Framing;
  readonly call: Call;
  readonly extras: StreamExtras | undefined;
}

/** The feeds of this process and their readers, within the bounds. */
interface FeedSet {
  /** Begins to read a run, for readers of one key. */
  readonly openFeed: (key: string, reading: Reading) => Feed;
  /** Another feed that has the offset of the reader. */
  readonly find: (key: string, state: ReaderState) => Found | undefined;
  /** The reader continues with the feed's segment of this index. */
  readonly enter: (state: ReaderState, feed: Feed, index: number) => void;
  /** The reader reads its feed no longer. A feed without readers ends. */
  readonly leave: (state: ReaderState) => void;
  /** The reader has read its segment. */
  readonly advance: (state: ReaderState, feed: Feed) => void;
  /** Reads the next batch for the readers at the end of the feed, and wakes them. */
  readonly pull: (feed: Feed) => Promise<void>;
  readonly bufferedBytes: Feeds['bufferedBytes'];
}

function createFeedSet({ follow }: Pick<Execution, 'follow'>, bounds: FeedBounds): FeedSet {
  const feedsOf = new Map<string, Set<Feed>>();
  let bufferedBytes = 0;
  let uses = 0;

  const count = (feed: Feed, bytes: number): void => {
    feed.bytes += bytes;
    bufferedBytes += bytes;
  };

  const openFeed = (key: string, { request, framing, call: { deadline }, extras }: Reading): Feed => {
    const controller = new AbortController();
    const call = { deadline, signal: controller.signal };
    const open = (after: number): AsyncIterable<RunEvents> => follow({ ...request, after }, call);
    const events = extras ? extras.add(open, request.after, call) : open(request.after);
    const feed: Feed = {
      key,
      framing,
      runId: request.runId,
      toEventJson: undefined,
      head: request.after,
      source: events[Symbol.asyncIterator](),
      controller,
      segments: [],
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

  /** Ends a feed. Its readers keep their offsets and continue with another feed. */
  const close = (feed: Feed): void => {
    const feeds = feedsOf.get(feed.key);
    feeds?.delete(feed);
    if (feeds?.size === 0) feedsOf.delete(feed.key);
    for (const reader of feed.readers) reader.feed = undefined;
    feed.readers.clear();
    feed.segments = [];
    count(feed, -feed.bytes);
    feed.batchBytes = 0;
    if (feed.isOver || feed.error) return;
    feed.controller.abort();
    feed.source.return?.().catch(() => undefined);
  };

  /** Drops the first segments that all readers have read. */
  const trim = (feed: Feed): void => {
    let passed = 0;
    for (const { readers, segment } of feed.segments) {
      if (readers > 0) break;
      if (Buffer.isBuffer(segment.content)) count(feed, -segment.size);
      passed++;
    }
    if (passed === 0) return;
    feed.segments.splice(0, passed);
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
    for (let at = index - feed.base; at < feed.segments.length; at++) release(feed, at);
    trim(feed);
  };

  const enter = (state: ReaderState, feed: Feed, index: number): void => {
    state.feed = feed;
    state.index = index;
    feed.readers.add(state);
    for (let at = index - feed.base; at < feed.segments.length; at++) {
      const buffered = feed.segments[at];
      if (buffered) buffered.readers++;
    }
  };

  /** Removes readers from the feed for which it would buffer more than `feedBytes`. */
  const removeSlowReaders = (feed: Feed): void => {
    let bytes = feed.segments.reduce((sum, { segment }) => sum + segment.size, 0);
    let index = feed.base;
    for (const { segment } of feed.segments) {
      if (bytes <= bounds.feedBytes) break;
      bytes -= segment.size;
      index++;
    }
    if (index === feed.base) return;
    for (const state of [...feed.readers]) if (state.index < index) leave(state);
  };

  /** Closes the least recently used feeds until all buffers are within `totalBytes`. */
  const closeIdleFeeds = (busy: Feed): void => {
    while (bufferedBytes > bounds.totalBytes) {
      let idle: Feed | undefined;
      for (const feeds of feedsOf.values()) {
        for (const feed of feeds) {
          const mayClose = feed !== busy && !feed.isPulling && feed.bytes > 0;
          if (mayClose && (!idle || feed.usedAt < idle.usedAt)) idle = feed;
        }
      }
      if (!idle) return;
      close(idle);
    }
  };

  const take = (feed: Feed, { events, scope }: StreamEvents): void => {
    const batchBytes = memoryOf(events);
    if (scope) feed.toEventJson ??= feed.framing.toEventJson(scope);
    const { framing, toEventJson, runId, head: after } = feed;
    if (!toEventJson) throw new Error(`the first reply does not have the scope of run "${runId}"`);
    const segments = toSegments({ framing, toEventJson, runId, after, segmentBytes: bounds.segmentBytes }, events);
    feed.head = events.at(-1)?.seq ?? feed.head;
    feed.usedAt = ++uses;
    // The batch stays in memory until the next one is read: the source keeps it, and so do the segments of large events.
    count(feed, batchBytes);
    feed.batchBytes = batchBytes;
    for (const segment of segments) {
      feed.segments.push({ segment, readers: feed.readers.size });
      if (Buffer.isBuffer(segment.content)) count(feed, segment.size);
    }
    closeIdleFeeds(feed);
  };

  /** Releases the batch that was read last. Segments of it that slower readers still need get buffers of their own. */
  const dropBatch = (feed: Feed): void => {
    for (const { segment } of feed.segments) {
      if (Buffer.isBuffer(segment.content)) continue;
      segment.content = segment.content.encode();
      count(feed, segment.size);
    }
    count(feed, -feed.batchBytes);
    feed.batchBytes = 0;
  };

  const pull = async (feed: Feed): Promise<void> => {
    feed.isPulling = true;
    removeSlowReaders(feed);
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
      if (feed.head === state.position.after && !feed.isOver) return { feed, index: feed.base + feed.segments.length };
      for (const [at, { segment }] of feed.segments.entries()) {
        if (locate(segment, state.position) !== undefined) return { feed, index: feed.base + at };
      }
    }
    return undefined;
  };

  const advance = (state: ReaderState, feed: Feed): void => {
    feed.usedAt = ++uses;
    release(feed, state.index - feed.base);
    state.index++;
    trim(feed);
  };

  return { openFeed, find, enter, leave, pull, advance, bufferedBytes: () => bufferedBytes };
}

function openReader(feeds: FeedSet, reading: Reading): Reader {
  const { request, framing, call, extras } = reading;
  const { find, enter, leave, advance } = feeds;
  const { owner, runId } = request;
  const key = JSON.stringify([framing.name, owner, runId, extras?.name]);
  const state: ReaderState = {
    feed: undefined,
    index: 0,
    position: { after: request.after, offset: 0 },
    wake: undefined,
  };
  let first: FollowRequest | undefined = request;
  let isDisconnected = call.signal.aborted;
  const onDisconnect = (): void => {
    isDisconnected = true;
    leave(state);
    state.wake?.();
  };
  call.signal.addEventListener('abort', onDisconnect, { once: true });

  /** Continues with another feed that has the reader's offset, or with a new one. */
  const attach = (): Feed => {
    const found = find(key, state);
    if (found) {
      leave(state);
      enter(state, found.feed, found.index);
    }
    const feed =
      state.feed ??
      feeds.openFeed(key, { ...reading, request: first ?? { owner, runId, after: state.position.after } });
    if (!state.feed) enter(state, feed, feed.base);
    first = undefined;
    return feed;
  };

  const wait = async (feed: Feed): Promise<void> => {
    await new Promise<void>((resolve) => {
      state.wake = resolve;
      if (!feed.isPulling) void feeds.pull(feed);
    });
    state.wake = undefined;
  };

  /** The bytes of the segment that the reader does not have; `undefined` when it has all of them. */
  const pass = (feed: Feed, segment: Segment): StreamBytes | undefined => {
    const { position } = state;
    const start = isSame(segment.from, position) ? 0 : locate(segment, position);
    if (start === undefined && !isWithin(segment, position)) {
      // The log was rebuilt meanwhile, and the partly sent event is not in it.
      throw unavailable('the event log was rebuilt while it was read; resume the stream');
    }
    advance(state, feed);
    if (start === undefined) return undefined;
    state.position = segment.to;
    const bytes = Buffer.isBuffer(segment.content) ? segment.content : segment.content.encode();
    return { bytes: start === 0 ? bytes : bytes.subarray(start), isWhole: segment.to.offset === 0 };
  };

  const next: Reader['next'] = async () => {
    for (;;) {
      if (isDisconnected) throw new ServiceError('Cancelled', 'the caller disconnected');
      let { feed } = state;
      if (!feed || state.index - feed.base === feed.segments.length) feed = attach();
      const buffered = feed.segments[state.index - feed.base];
      if (buffered) {
        const taken = pass(feed, buffered.segment);
        if (taken) return taken;
      } else if (feed.isOver) {
        return undefined;
      } else if (feed.error === undefined) {
        await wait(feed);
      } else {
        const { error } = feed;
        leave(state);
        // A feed has the deadline of the reader that opened it; the others continue with another feed.
        if (error.code !== 'Timeout' || Date.now() >= call.deadline) throw error;
      }
    }
  };

  return {
    next,
    [Symbol.dispose]: () => {
      call.signal.removeEventListener('abort', onDisconnect);
      leave(state);
    },
  };
}

interface BufferedSegment {
  readonly segment: Segment;
  /** How many readers of the feed have not read it. */
  readers: number;
}

interface Feed {
  readonly key: string;
  readonly framing: Framing;
  readonly runId: string;
  /** Set by the first reply. */
  toEventJson: ToEventJson | undefined;
  readonly source: AsyncIterator<StreamEvents, unknown>;
  readonly controller: AbortController;
  /** The number of the last event that was read. */
  head: number;
  /** The segments that not all readers have read, in order; the first has index `base`. */
  segments: BufferedSegment[];
  base: number;
  /** The memory of the feed: its segments and the batch that was read last. */
  bytes: number;
  batchBytes: number;
  readonly readers: Set<ReaderState>;
  isPulling: boolean;
  isOver: boolean;
  error: ServiceError | undefined;
  /** A counter of the uses of all feeds: the least recently used feed has the smallest. */
  usedAt: number;
}

interface ReaderState {
  feed: Feed | undefined;
  /** Of the feed's segment that the reader reads next. */
  index: number;
  position: ReadOffset;
  wake: (() => void) | undefined;
}

interface Found {
  readonly feed: Feed;
  readonly index: number;
}

function release({ segments }: Feed, at: number): void {
  const buffered = segments[at];
  if (buffered) buffered.readers--;
}

/** Small events share buffers of up to this size. */
const sharedBufferBytes = 128 * 1024;

/** The memory that these events keep alive: for an event that is a view of a larger buffer, the whole buffer. */
function memoryOf(events: readonly StreamEvent[]): number {
  let bytes = 0;
  let last: ArrayBufferLike | undefined;
  for (const { data, message, state, extras, written } of events) {
    if (extras) bytes += memoryOf(extras);
    for (const text of written ?? [data, message, state]) {
      if (!text) continue;
      const { buffer, byteLength } = text;
      // Events of one buffer are consecutive.
      if (buffer.byteLength <= sharedBufferBytes) bytes += byteLength;
      else if (buffer !== last) bytes += buffer.byteLength;
      last = buffer;
    }
  }
  return bytes;
}

const isSame = (one: ReadOffset, other: ReadOffset): boolean =>
  one.after === other.after && one.offset === other.offset && one.seq === other.seq;

/** Whether the segment is an earlier part of the event that the reader has in part. */
const isWithin = ({ from, seqs }: Segment, { after, seq }: ReadOffset): boolean =>
  from.after === after && seq !== undefined && seqs[0] === seq;
