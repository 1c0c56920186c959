import { setTimeout as delay } from 'node:timers/promises';
import { openCaller, type Caller } from './load.ts';

/** The work of one request; rejects when the reply is not the right one. */
type Work = (caller: Caller, index: number) => Promise<unknown>;

interface OpenLoop {
  readonly port: number;
  readonly callers: number;
  /** Requests a second, in all. */
  readonly rate: number;
  readonly seconds: number;
  readonly work: Work;
  /** Receives each request when it is done. */
  readonly onDone: (done: Done) => void;
}

interface Done {
  readonly index: number;
  /** From the moment at which the request was due to the end of its reply, in milliseconds. */
  readonly ms: number;
  /** The part of it before the request was sent, in milliseconds. */
  readonly lateMs: number;
  /** Why it failed; absent for a right reply. */
  readonly error?: string;
}

/** Timers of Node are due at whole milliseconds; the rest of the time is waited for in turns of the event loop. */
const timerMs = 2;

/**
 * An open loop: each request has a moment at which it is due, whatever the ones before it do. A free caller waits for that
 * moment; where no caller is free, the request is sent late, and its latency still counts from that moment.
 */
export async function runOpenLoop({ port, callers, rate, seconds, work, onDone }: OpenLoop): Promise<void> {
  const start = performance.now();
  const total = Math.round(rate * seconds);
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      let caller = await openCaller(port);
      while (next < total) {
        const index = next++;
        const due = start + (index * 1000) / rate;
        await waitUntil(due);
        const lateMs = performance.now() - due;
        try {
          await work(caller, index);
          onDone({ index, ms: performance.now() - due, lateMs });
        } catch (error) {
          onDone({ index, ms: performance.now() - due, lateMs, error: String(error) });
          caller[Symbol.dispose]();
          caller = await openCaller(port);
        }
      }
      caller[Symbol.dispose]();
    }),
  );
}

async function waitUntil(moment: number): Promise<void> {
  const ms = moment - performance.now() - timerMs;
  if (ms > 0) await delay(ms);
  while (performance.now() < moment) await new Promise(setImmediate);
}
