import { atMost, median, type Figure } from './figure.ts';
import { openCaller, toRequest, type Caller } from './load.ts';
import type { Bench } from './measure.ts';
import { writtenBytes } from './process-counters.ts';
import { startService, type Server } from './servers.ts';

/** Turns at each length, and how many more are taken before, which are not counted. */
const turnsMeasured = 120;
const turnsBefore = 20;
/**
 * Messages on each thread before it is measured, and how many threads have so many. A turn adds two messages, so short threads
 * take turns to stay around their length. Of the longest there is one, because several do not fit into the cache of states.
 */
const threads: ReadonlyMap<number, number> = new Map([
  [10, 5],
  [100, 5],
  [1000, 5],
  [10_000, 1],
]);
const shortest = Math.min(...threads.keys());
/** Threads made after those that are measured, so that none of them stands at the end of the tables, where writing is cheaper. */
const threadsBehind = 40;
const messagesAtOnce = 500;
/** The most that a turn may take beside one at the shortest thread, by the length of the thread. */
const aims: ReadonlyMap<number, Aims> = new Map([
  [1000, { time: 1.2, bytes: 1.1 }],
  [10_000, { time: 1.1 }],
]);

interface Aims {
  readonly time?: number;
  readonly bytes?: number;
}

const turnOn = (threadId: string): Buffer =>
  toRequest('POST', '/v1/graph/invoke', {
    messages: [{ role: 'user', content: 'and another turn of the same length' }],
    config: { thread_id: threadId },
    response_granularity: 'low',
  });
const pingRequest = toRequest('GET', '/v1/ping');
const nameOf = (length: number, thread: number): string => `thread-${String(length)}-${String(thread)}`;

/** Whether a turn costs what the thread is long: one after the other on threads of four lengths, in turns. */
export async function longThread(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo: bench.profileTo });
  using caller = await openCaller(service.port);
  for (const [length, count] of threads)
    for (let thread = 0; thread < count; thread++) await fill(caller, nameOf(length, thread), length);
  for (let other = 0; other < threadsBehind; other++) await caller.send(turnOn(`behind-${String(other)}`));
  await takeTurns(service, caller, turnsBefore);
  const turns = await takeTurns(service, caller, turnsMeasured);
  const base = turns.get(shortest);
  return base === undefined ? [] : [...turns].flatMap(([length, samples]) => figuresOf(length, samples, base));
}

async function takeTurns(service: Server, caller: Caller, count: number): Promise<ReadonlyMap<number, Samples>> {
  const samples = new Map<number, Samples>([...threads.keys()].map((length) => [length, { ms: [], bytes: [] }]));
  for (let turn = 0; turn < count; turn++)
    for (const [length, of] of samples)
      await measureTurn(service, caller, turnOn(nameOf(length, turn % (threads.get(length) ?? 1))), of);
  return samples;
}

async function fill(caller: Caller, threadId: string, length: number): Promise<void> {
  await caller.send(turnOn(threadId));
  for (let made = 2; made < length; made += messagesAtOnce) {
    const messages = Array.from({ length: Math.min(messagesAtOnce, length - made) }, () => ({
      role: 'user',
      content: 'a message of the same length as others',
    }));
    await caller.send(toRequest('POST', `/v1/threads/${threadId}/messages`, { messages }));
  }
}

interface Samples {
  readonly ms: number[];
  readonly bytes: number[];
}

function figuresOf(length: number, samples: Samples, base: Samples): Figure[] {
  const bytes = median(samples.bytes);
  const figures: Figure[] = [
    { name: `turn at ${length.toLocaleString('en')} messages, p50`, unit: 'ms', ours: median(samples.ms) },
    ...(Number.isNaN(bytes) ? [] : [{ name: '  bytes written', unit: 'B', ours: bytes }]),
  ];
  if (samples === base) return figures;
  const { time, bytes: written } = aims.get(length) ?? {};
  return [
    ...figures,
    ratioOf('  ÷ 10 messages, time', median(samples.ms) / median(base.ms), time),
    ...(Number.isNaN(bytes) ? [] : [ratioOf('  ÷ 10 messages, bytes', bytes / median(base.bytes), written)]),
  ];
}

const ratioOf = (name: string, ours: number, bound: number | undefined): Figure => ({
  name,
  unit: '×',
  ours,
  ...(bound !== undefined && { aim: atMost(ours, bound) }),
});

async function measureTurn({ pid }: Server, caller: Caller, turn: Buffer, { ms, bytes }: Samples): Promise<void> {
  const before = writtenBytes(pid) ?? Number.NaN;
  ms.push((await caller.send(turn)).ms);
  // What the run writes after its reply belongs to this turn too: it is written by the time two pings are answered.
  await caller.send(pingRequest);
  await caller.send(pingRequest);
  bytes.push((writtenBytes(pid) ?? Number.NaN) - before);
}
