import { performance, PerformanceObserver, type EventLoopUtilization } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface HeapOptions {
  /** Memory that the process may use in all, in bytes. */
  readonly budget: number;
  /** How often it is checked whether the process is idle, in milliseconds; 10 seconds unless given. */
  readonly checkMs?: number;
}

const usualCheckMs = 10_000;

/**
 * Keeps the heap of this process within its share of the budget, until it is disposed of. V8 decides by the memory of the machine
 * how far the heap may grow before garbage is collected; its flags can be changed while it runs, its limits cannot. A process
 * with flags of its own for this (`--max-semi-space-size`) grows no further than they say.
 */
export function holdHeap({ budget, checkMs = usualCheckMs }: HeapOptions): Disposable {
  using opening = new DisposableStack();
  setFlagsFromString(`--heap-growing-percent=${String(growingPercent(budget))}`);
  opening.use(limitYoungGeneration(budget / shareOfYoung));
  opening.use(collectWhenIdle(checkMs));
  return opening.move();
}

/** Of a budget of 512 MiB, 32: twice what is copied at once. */
const shareOfYoung = 16;

/** A heap of half the budget is what V8 allows in a container, and from this size on it lets a heap grow as it likes. */
const largeHeap = 1024 * 1024 * 1024;
const leastPercent = 30;
const mostPercent = 100;

/**
 * By how much the heap may be larger than what was left in it by the last collection, until it is collected again: what V8 does
 * for a heap with such a limit. 0 lets V8 decide.
 */
function growingPercent(budget: number): number {
  const heap = budget / 2;
  if (heap >= largeHeap) return 0;
  return Math.round(leastPercent + ((mostPercent - leastPercent) * heap) / largeHeap);
}

/**
 * V8 doubles the space of new objects up to 64 MiB while much of it survives a collection, as what runs hold does. The size is
 * read after each collection, so that it is at most doubled once too often.
 */
function limitYoungGeneration(bytes: number): Disposable {
  let mayGrow = true;
  const adjust = (): void => {
    const fits = youngBytes() < bytes;
    if (fits === mayGrow) return;
    mayGrow = fits;
    setFlagsFromString(`--semi-space-growth-factor=${fits ? '2' : '1'}`);
  };
  const observer = new PerformanceObserver(adjust);
  observer.observe({ entryTypes: ['gc'] });
  adjust();
  return { [Symbol.dispose]: () => observer.disconnect() };
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;

/** Share of the time in which the event loop of an idle process may work. */
const idleShare = 0.05;
/** What the heap must have grown by since it was last given back: less is not worth the pause. */
const worthBytes = 16 * 1024 * 1024;
/** A heap with more in use is left alone: the pause grows with what is in use, and leases are renewed every other second. */
const largestBytes = 256 * 1024 * 1024;

/**
 * V8 collects when something is allocated: a process that becomes idle would keep what its last load needed. It takes some 50 ms,
 * once, in which nobody waits for much.
 */
function collectWhenIdle(checkMs: number): Disposable {
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let kept = 0;
  let collect: (() => void) | undefined;
  const check = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > idleShare || heldBytes() < kept + worthBytes) return;
    if (process.memoryUsage().heapUsed > largestBytes) return;
    collect ??= exposedCollect();
    collect();
    kept = heldBytes();
  };
  const timer = setInterval(check, checkMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function heldBytes(): number {
  const { heapTotal, external } = process.memoryUsage();
  return heapTotal + external;
}

/** V8 shows its function for this only to a context that is made after it was asked to. */
function exposedCollect(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (options: object) => void;
  return () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
