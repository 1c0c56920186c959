import { atMost, median, type Figure } from './figure.ts';
import { openCaller, toRequest, type Caller } from './load.ts';
import { prepare, type Bench } from './measure.ts';
import { writtenBytes } from './process-counters.ts';
import { startService, type Server } from './servers.ts';

const turnsMeasured = 60;
/** Messages on each thread before it is measured. */
const lengths = [10, 100, 1000, 10_000] as const;
/** Threads made after those that are measured, so that none of them stands at the end of the tables, where writing is cheaper. */
const threadsBehind = 40;
const messagesAtOnce = 500;

const turnOn = (threadId: string): Buffer =>
  toRequest('POST', '/v1/graph/invoke', {
    messages: [{ role: 'user', content: 'and another turn of the same length' }],
    config: { thread_id: threadId },
    response_granularity: 'low',
  });
const pingRequest = toRequest('GET', '/v1/ping');
const nameOf = (length: number): string => `thread-${String(length)}`;

/** Whether a turn costs what the thread is long: one after the other on threads of four lengths, in turns. */
export async function longThread(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo: bench.profileTo });
  using caller = await openCaller(service.port);
  for (const length of lengths) await fill(caller, length);
  for (let other = 0; other < threadsBehind; other++) await caller.send(turnOn(`behind-${String(other)}`));
  for (const length of lengths) await prepare(service.port, () => turnOn(nameOf(length)), 5, 1);
  const turns = new Map(lengths.map((length) => [length, { ms: [], bytes: [] }]));
  for (let turn = 0; turn < turnsMeasured; turn++)
    for (const [length, samples] of turns) await measureTurn(service, caller, turnOn(nameOf(length)), samples);
  return [...turns].flatMap(([length, samples]) => figuresOf(length, samples, turns.get(lengths[0]) ?? samples));
}

async function fill(caller: Caller, length: number): Promise<void> {
  await caller.send(turnOn(nameOf(length)));
  for (let made = 2; made < length; made += messagesAtOnce) {
    const messages = Array.from({ length: Math.min(messagesAtOnce, length - made) }, () => ({
      role: 'user',
      content: 'a message of the same length as others',
    }));
    await caller.send(toRequest('POST', `/v1/threads/${nameOf(length)}/messages`, { messages }));
  }
}

interface Samples {
  readonly ms: number[];
  readonly bytes: number[];
}

function figuresOf(length: number, samples: Samples, shortest: Samples): Figure[] {
  const at = `turn at ${length.toLocaleString('en')} messages`;
  const time = median(samples.ms) / median(shortest.ms);
  const written = median(samples.bytes) / median(shortest.bytes);
  const isAim = length === 1000;
  return [
    { name: `${at}, p50`, unit: 'ms', ours: median(samples.ms) },
    ...(Number.isNaN(written) ? [] : [{ name: '  bytes written', unit: 'B', ours: median(samples.bytes) }]),
    ...(samples === shortest
      ? []
      : [
          { name: '  ÷ 10 messages, time', unit: '×', ours: time, ...(isAim ? { aim: atMost(time, 1.2) } : {}) },
          ...(Number.isNaN(written)
            ? []
            : [
                {
                  name: '  ÷ 10 messages, bytes',
                  unit: '×',
                  ours: written,
                  ...(isAim ? { aim: atMost(written, 1.1) } : {}),
                },
              ]),
        ]),
  ];
}

async function measureTurn({ pid }: Server, caller: Caller, turn: Buffer, { ms, bytes }: Samples): Promise<void> {
  const before = writtenBytes(pid) ?? Number.NaN;
  ms.push((await caller.send(turn)).ms);
  // What the run writes after its reply belongs to this turn too: it is written by the time two pings are answered.
  await caller.send(pingRequest);
  await caller.send(pingRequest);
  bytes.push((writtenBytes(pid) ?? Number.NaN) - before);
}
