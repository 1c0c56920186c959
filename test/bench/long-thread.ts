import { atMost, median, type Figure } from './figure.ts';
import { openCaller, toRequest, type Caller } from './load.ts';
import { prepare, type Bench } from './measure.ts';
import { writtenBytes } from './process-counters.ts';
import { startService, type Server } from './servers.ts';

const turnsMeasured = 20;
const pairs = 3;

const turnOn = (threadId: string): Buffer =>
  toRequest('POST', '/v1/graph/invoke', {
    messages: [{ role: 'user', content: 'and another turn of the same length' }],
    config: { thread_id: threadId },
    response_granularity: 'low',
  });
const pingRequest = toRequest('GET', '/v1/ping');

/** Whether a turn costs what the thread is long: turns around the thousandth against turns around the tenth, in turns. */
export async function longThread(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo: bench.profileTo });
  const measured: Turns[] = [];
  for (let pair = 0; pair < pairs; pair++) measured.push(await measurePair(service, pair));
  const time = median(measured.map(({ early, late }) => median(late.ms) / median(early.ms)));
  const written = median(measured.map(({ early, late }) => median(late.bytes) / median(early.bytes)));
  return [
    { name: 'turn 1,000 ÷ turn 10, time', unit: '×', ours: time, aim: atMost(time, 1.2) },
    { name: '  turn 10, p50', unit: 'ms', ours: median(measured.flatMap(({ early }) => early.ms)) },
    ...(Number.isNaN(written)
      ? []
      : [{ name: 'turn 1,000 ÷ turn 10, bytes written', unit: '×', ours: written, aim: atMost(written, 1.1) }]),
    { name: '  turn 10, bytes written', unit: 'B', ours: median(measured.flatMap(({ early }) => early.bytes)) },
  ];
}

interface Samples {
  readonly ms: number[];
  readonly bytes: number[];
}

interface Turns {
  readonly early: Samples;
  readonly late: Samples;
}

async function measurePair(service: Server, pair: number): Promise<Turns> {
  const short = turnOn(`short-${String(pair)}`);
  const long = turnOn(`long-${String(pair)}`);
  await prepare(service.port, () => long, 1000 - turnsMeasured / 2, 1);
  using caller = await openCaller(service.port);
  const turns: Turns = { early: { ms: [], bytes: [] }, late: { ms: [], bytes: [] } };
  for (let turn = 0; turn < turnsMeasured; turn++) {
    await measureTurn(service, caller, short, turns.early);
    await measureTurn(service, caller, long, turns.late);
  }
  return turns;
}

async function measureTurn({ pid }: Server, caller: Caller, turn: Buffer, { ms, bytes }: Samples): Promise<void> {
  const before = writtenBytes(pid) ?? Number.NaN;
  ms.push((await caller.send(turn)).ms);
  // What the run writes after its reply belongs to this turn too: it is written by the time two pings are answered.
  await caller.send(pingRequest);
  await caller.send(pingRequest);
  bytes.push((writtenBytes(pid) ?? Number.NaN) - before);
}
