import { AsyncLocalStorage } from 'node:async_hooks';
import { nodeOfCode } from '@agent-workflow/graph/run/interrupt';
import { originSymbol, type CodeOrigin } from './origin.ts';

const current = new AsyncLocalStorage<CodeOrigin>();

/** Does work that is of this origin, as is whatever it leaves behind: timers, promises, listeners. */
export const runCode = <T>(origin: CodeOrigin, work: () => T): T => current.run(origin, work);

/** Where the code that runs just now comes from; `undefined` for what belongs to no agent. */
export function codeOrigin(): CodeOrigin | undefined {
  const origin = current.getStore();
  const node = nodeOfCode();
  return origin && (node === undefined ? origin : { ...origin, node });
}

/** Makes known under {@link originSymbol} what a debugger asks for, which reaches no module by its name. */
export function exposeCodeOrigin(): void {
  Object.defineProperty(globalThis, Symbol.for(originSymbol), {
    value: () => JSON.stringify(codeOrigin() ?? {}),
    configurable: true,
  });
}
