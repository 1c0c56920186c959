import { AsyncLocalStorage } from 'node:async_hooks';
import type { CompiledGraph } from '../build/graph.ts';
import { surroundCode } from '../run/around.ts';

/** What takes back a thing that the code under one key did to a fake. */
interface TakeBack {
  readonly key: string;
  readonly takeBack: () => void;
}

interface RunningCode {
  readonly key: string;
  readonly done: TakeBack[];
}

const running = new AsyncLocalStorage<RunningCode>();

/**
 * For fakes with a script: `takeBack` is called when the step that runs now is thrown away by a crash, so that its next attempt finds
 * the script as this one did. Outside of `walkWithCrashes` it is never called.
 */
export function onCrash(takeBack: () => void): void {
  const code = running.getStore();
  code?.done.push({ key: code.key, takeBack });
}

/** What the code of a graph does to fakes, until the step is committed or thrown away. */
interface CrashScope {
  /** The graph whose code runs in this scope. */
  readonly surround: (graph: CompiledGraph) => CompiledGraph;
  readonly commit: () => void;
  /** Takes back all but what was done under the keys that are `kept` on record. */
  readonly crash: (kept: ReadonlySet<string>) => void;
}

export function createCrashScope(): CrashScope {
  const done: TakeBack[] = [];
  return {
    surround: (graph) =>
      surroundCode(graph, ({ context: { idempotencyKey: key } }) => ({
        run: (work) => running.run({ key, done }, work),
        end: () => undefined,
      })),
    commit: () => void done.splice(0),
    crash: (kept) => {
      for (const { key, takeBack } of done.splice(0)) if (!isWithin(key, kept)) takeBack();
    },
  };
}

/** Keys within a sub-graph begin with the key of the node that holds it. */
const isWithin = (key: string, kept: ReadonlySet<string>): boolean =>
  kept.has(key) || [...kept].some((outer) => key.startsWith(`${outer}/`));
