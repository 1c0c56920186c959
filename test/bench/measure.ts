import { median } from './figure.ts';
import { sendOne, openCaller, type Caller, type Watch } from './load.ts';
import { cpuMs } from './process-counters.ts';
import type { BareKoa, Server } from './servers.ts';

/** What every group measures with. */
export interface Bench {
  /** About how long each side of one figure is measured. */
  readonly seconds: number;
  /** How long the mixed load goes on. */
  readonly minutes: number;
  /** How many runs `memory` makes. */
  readonly runs: number;
  readonly bare: BareKoa;
  /** Folder for CPU profiles of the service, when they are asked for. */
  readonly profileTo: string | undefined;
}

interface SideBySide {
  readonly ours: number;
  readonly bare: number;
  readonly ratio: number;
  /** Ours and the bare one's, round by round: how far they spread says how much the figure is worth. */
  readonly rounds: readonly (readonly [number, number])[];
}

interface InTurns extends Pick<SideBySide, 'ratio' | 'rounds'> {
  readonly first: number;
  readonly second: number;
}

/** Gives the request of a call by its number, so that no two are the same where that matters. */
type Requests = (index: number) => Buffer;

/** Short rounds, so that what the service does now and then (its logs are compressed some time after their end) falls on both sides. */
const roundCount = 12;

/**
 * Measures both servers in rounds, A B B A and B A A B, on the same requests; the bare one answers what ours answers to the first.
 * Each figure is the median of the rounds, and the ratio the median of the ratios.
 */
export async function sideBySide(
  { seconds, bare }: Bench,
  service: Server,
  requests: Requests,
  measure: (port: number, requests: Requests, seconds: number) => Promise<number>,
): Promise<SideBySide> {
  const { type, body } = await sendOne(service.port, requests(0));
  await bare.answer({ type, body });
  const { first, second, ratio, rounds } = await inTurns(seconds, [
    (slice) => measure(service.port, requests, slice),
    (slice) => measure(bare.port, requests, slice),
  ]);
  return { ours: first, bare: second, ratio, rounds };
}

/** Something that is measured for so many seconds. */
type Measured = (seconds: number) => Promise<number>;

/**
 * Measures two things in rounds, A B B A and B A A B: neither always follows the other. A round's figure is the mean of its two. The figures are the
 * medians of the rounds, and the ratio the median of the ratios, first to second.
 */
export async function inTurns(seconds: number, [first, second]: readonly [Measured, Measured]): Promise<InTurns> {
  const slice = seconds / roundCount / 2;
  for (const measure of [first, second]) await measure(slice);
  const rounds: [number, number][] = [];
  for (let round = 0; round < roundCount; round++) {
    const [outer, inner] = round % 2 === 0 ? [first, second] : [second, first];
    const before = await outer(slice);
    const within = ((await inner(slice)) + (await inner(slice))) / 2;
    const around = (before + (await outer(slice))) / 2;
    rounds.push(round % 2 === 0 ? [around, within] : [within, around]);
  }
  return {
    first: median(rounds.map(([one]) => one)),
    second: median(rounds.map(([, other]) => other)),
    ratio: median(rounds.map(([one, other]) => one / other)),
    rounds,
  };
}

/** Replies a second with so many callers at once. */
export const perSecond =
  (callers: number) =>
  async (port: number, requests: Requests, seconds: number): Promise<number> => {
    let replies = 0;
    const ms = await together(port, callers, seconds, async (caller, index) => {
      await caller.send(requests(index));
      replies++;
    });
    return (replies * 1000) / ms;
  };

/**
 * Processor time of the server's process for one reply, in milliseconds, with so many callers at once; `undefined` where it
 * cannot be read.
 */
export async function cpuPerReply(
  { port, pid }: Server,
  requests: Requests,
  callers: number,
  seconds: number,
): Promise<number | undefined> {
  let replies = 0;
  const before = cpuMs(pid);
  await together(port, callers, seconds, async (caller, index) => {
    await caller.send(requests(index));
    replies++;
  });
  const after = cpuMs(pid);
  return before === undefined || after === undefined ? undefined : (after - before) / replies;
}

/** The median time of one caller's replies, in milliseconds. */
export async function p50(port: number, requests: Requests, seconds: number): Promise<number> {
  const times: number[] = [];
  await together(port, 1, seconds, async (caller, index) => {
    times.push((await caller.send(requests(index))).ms);
  });
  return median(times);
}

/** How often a text arrives a second, in the replies of so many callers at once. */
export const marksPerSecond =
  (callers: number, mark: Buffer) =>
  async (port: number, requests: Requests, seconds: number): Promise<number> => {
    let marks = 0;
    const ms = await together(port, callers, seconds, async (caller, index) => {
      const reply = await caller.send(requests(index), { mark });
      marks += reply.marks;
    });
    return (marks * 1000) / ms;
  };

/** The median time until a text first arrives with one caller, in milliseconds. */
export const firstMarkP50 =
  (mark: Buffer) =>
  async (port: number, requests: Requests, seconds: number): Promise<number> => {
    const times: number[] = [];
    const watch: Watch = { mark };
    await together(port, 1, seconds, async (caller, index) => {
      times.push((await caller.send(requests(index), watch)).firstMarkMs);
    });
    return median(times);
  };

/** Sends so many requests, several at once: what a figure needs to stand on. */
export async function prepare(port: number, requests: Requests, total: number, callers = 16): Promise<void> {
  let index = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      using caller = await openCaller(port);
      while (index < total) await caller.send(requests(index++));
    }),
  );
}

let sent = 0;

/** Lets callers work, each one call after the other, for so long. @returns the milliseconds until the last was done. */
async function together(
  port: number,
  callers: number,
  seconds: number,
  work: (caller: Caller, index: number) => Promise<void>,
): Promise<number> {
  const open = await Promise.all(Array.from({ length: callers }, () => openCaller(port)));
  const start = performance.now();
  const until = start + seconds * 1000;
  await Promise.all(
    open.map(async (caller) => {
      using mine = caller;
      do await work(mine, sent++);
      while (performance.now() < until);
    }),
  );
  return performance.now() - start;
}
