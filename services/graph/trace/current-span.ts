import { AsyncLocalStorage } from 'node:async_hooks';
import type { Message } from '@agent-workflow/protos/message';
import type { Span } from './step-trace.ts';

/** The code of the agent that runs: its span, and the context that it was given. */
export interface TracedCode {
  readonly span: Span;
  readonly context: readonly Message[];
}

const key = Symbol.for('@agent-workflow/graph: traced code');
// The types of the global object know no symbols.
const shared = globalThis as unknown as Record<symbol, AsyncLocalStorage<TracedCode> | undefined>;

/** All copies of this package share one: an agent's own copy of a model is traced within the node that another copy runs. */
const current = (shared[key] ??= new AsyncLocalStorage<TracedCode>());

/** The code that runs, its timers and promises included; `undefined` where nothing is traced. */
export const tracedCode = (): TracedCode | undefined => current.getStore();

/** Runs `work` as the code of a span; without one as it is. */
export const runTraced = <T>(code: TracedCode | undefined, work: () => T): T =>
  code ? current.run(code, work) : work();
