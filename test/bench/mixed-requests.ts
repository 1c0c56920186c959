import { toRequest } from './load.ts';

/** Existing threads: turns go to them one after the other, so that a thread has seldom two at once. */
export const existingThreads = 1000;

const words = 'the harbour opens early and my sister prefers green tea on quiet mornings by the river'.split(' ');
const wordAt = (index: number): string => words[index % words.length] ?? '';

/** Words of a streamed answer: each is a chunk. */
const streamedWords = 50;
const streamedText = Array.from({ length: streamedWords }, (_, index) => wordAt(index)).join(' ');

const threadOf = (index: number): string => `mixed-${String(index % existingThreads)}`;

const run = (path: string, text: string, threadId?: string): Buffer =>
  toRequest('POST', path, {
    messages: [{ role: 'user', content: text }],
    response_granularity: 'low',
    ...(threadId !== undefined && { config: { thread_id: threadId } }),
  });

export const turn = (index: number): Buffer => run('/v1/graph/invoke', 'and another turn', threadOf(index));

export const store = (index: number): Buffer =>
  toRequest('POST', '/v1/store/memories', {
    content: `${wordAt(index)} ${wordAt(index * 5 + 2)} ${wordAt(index * 7 + 3)}, note ${String(index)}`,
    memory_type: 'semantic',
    category: 'notes',
  });

/** One kind of request of the mixed load. */
export interface Kind {
  readonly name: string;
  /** How many of each hundred requests are of this kind. */
  readonly percent: number;
  /** The request with this number among those of its kind. */
  readonly request: (index: number) => Buffer;
  /** Chunks that each reply must have, where it is a stream. */
  readonly chunks?: number;
}

export const kinds: readonly Kind[] = [
  { name: 'invoke, new thread', percent: 30, request: () => run('/v1/graph/invoke', 'hello there') },
  { name: 'turn, existing thread', percent: 30, request: turn },
  {
    name: 'stream, whole',
    percent: 10,
    request: () => run('/v1/graph/stream', streamedText),
    // The last chunk is the whole message.
    chunks: streamedWords + 1,
  },
  {
    name: 'state',
    percent: 10,
    request: (index) => toRequest('GET', `/v1/threads/${threadOf(index * 7)}/state`),
  },
  { name: 'list 100 threads', percent: 8, request: () => toRequest('GET', '/v1/threads?limit=100') },
  { name: 'memory store', percent: 4, request: store },
  {
    name: 'memory search',
    percent: 8,
    request: (index) =>
      toRequest('POST', '/v1/store/search', { query: `who ${wordAt(index)} ${wordAt(index + 3)}`, limit: 10 }),
  },
];
