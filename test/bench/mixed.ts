import { setTimeout as delay } from 'node:timers/promises';
import { shareWithin } from '../quantiles.ts';
import { atMost, type Figure } from './figure.ts';
import type { Caller } from './load.ts';
import { prepare, type Bench } from './measure.ts';
import { existingThreads, kinds, store, turn, type Kind } from './mixed-requests.ts';
import { runOpenLoop } from './open-loop.ts';
import { residentMiB } from './process-counters.ts';
import { startService, type Server } from './servers.ts';

const callers = 32;
/** Requests a second, all kinds together. */
const rate = 400;
const memoriesBefore = 1000;
const minuteMs = 60_000;
const chunkMark = Buffer.from('event: messages_chunk\n');

/** Minutes of all kinds of requests beside each other, at a fixed rate: latencies by kind, errors, and resident memory. */
export async function mixed({ minutes, profileTo }: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'wordByWord', profileTo });
  await prepare(service.port, turn, existingThreads);
  await prepare(service.port, store, memoriesBefore);
  const watched = watchMemory(service, minutes);
  const results = await loadService(service.port, minutes);
  const { late, errors } = results;
  const firstError = errors[0];
  if (firstError !== undefined) console.log(`mixed, first error: ${firstError}`);
  return [
    ...[...results.times].flatMap(([{ name }, times]) => latencies(name, times)),
    { name: `mixed, requests at ${rate}/s, sent late, p99`, unit: 'ms', ours: shareWithin(late, 0.99) },
    {
      name: `mixed, errors of ${late.length.toLocaleString('en-US')} requests`,
      unit: '',
      ours: errors.length,
      aim: atMost(errors.length, 0),
    },
    ...growthOf(await watched),
  ];
}

interface Results {
  /** Latencies by kind, in milliseconds. */
  readonly times: ReadonlyMap<Kind, number[]>;
  /** How late each request was sent, in milliseconds. */
  readonly late: readonly number[];
  readonly errors: readonly string[];
}

async function loadService(port: number, minutes: number): Promise<Results> {
  const times = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]));
  const late: number[] = [];
  const errors: string[] = [];
  await runOpenLoop({
    port,
    callers,
    rate,
    seconds: minutes * 60,
    work: send,
    onDone: ({ index, ms, lateMs, error }) => {
      const { kind } = slotAt(index);
      late.push(lateMs);
      if (error === undefined) times.get(kind)?.push(ms);
      else errors.push(`${kind.name}: ${error}`);
    },
  });
  return { times, late, errors };
}

interface Slot {
  readonly kind: Kind;
  /** The number of this request among those of its kind in a hundred requests. */
  readonly place: number;
}

/** A hundred requests, as many of each kind as its share, the kinds spread over them. */
const slots: readonly Slot[] = kinds
  .flatMap((kind) => Array.from({ length: kind.percent }, (_, place): Slot => ({ kind, place })))
  .toSorted((one, other) => positionOf(one) - positionOf(other));

function positionOf({ kind, place }: Slot): number {
  return (place + 0.5) / kind.percent;
}

const slotAt = (index: number): Slot => slots[index % slots.length] as Slot;

/** @throws Error when the reply is no success, or a stream that does not have every chunk. */
async function send(caller: Caller, index: number): Promise<void> {
  const { kind, place } = slotAt(index);
  const request = kind.request(Math.floor(index / slots.length) * kind.percent + place);
  const { marks } = await caller.send(request, kind.chunks === undefined ? {} : { mark: chunkMark });
  if (kind.chunks !== undefined && marks !== kind.chunks) throw new Error(`a stream came in ${marks} chunks`);
}

const latencies = (name: string, times: readonly number[]): Figure[] => [
  { name: `mixed, ${name}, p50`, unit: 'ms', ours: shareWithin(times, 0.5) },
  { name: '  p99', unit: 'ms', ours: shareWithin(times, 0.99) },
  { name: '  p99.9', unit: 'ms', ours: shareWithin(times, 0.999) },
];

/** Resident memory in MiB before the load, and after each minute of it. */
async function watchMemory({ pid }: Server, minutes: number): Promise<readonly number[]> {
  const start = performance.now();
  const samples = [residentMiB(pid) ?? Number.NaN];
  for (let minute = 1; minute <= minutes; minute++) {
    await delay(start + minute * minuteMs - performance.now());
    const now = residentMiB(pid) ?? Number.NaN;
    process.stderr.write(`minute ${minute}: ${Math.round(now)} MiB\n`);
    samples.push(now);
  }
  return samples;
}

function growthOf(samples: readonly number[]): Figure[] {
  const growthFrom = (index: number): number => (samples.at(-1) ?? Number.NaN) - (samples[index] ?? Number.NaN);
  const half = samples.length >> 1;
  return [
    ...samples.map((ours, minute) => ({
      name: minute === 0 ? 'mixed, resident memory before the load' : `  after minute ${minute}`,
      unit: 'MiB',
      ours,
    })),
    { name: '  growth', unit: 'MiB', ours: growthFrom(0) },
    ...(samples.length > 2 ? [{ name: `  growth since minute ${half}`, unit: 'MiB', ours: growthFrom(half) }] : []),
  ];
}
