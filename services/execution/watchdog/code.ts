import { AsyncLocalStorage } from 'node:async_hooks';
import { nodeOfCode } from '@agent-workflow/graph/run/interrupt';
import { originSymbol, type CodeOrigin } from './origin.ts';

/**
 * `codeOrigins.run(origin, work)` runs code of this origin. The timers, promises and listeners that it leaves behind have the same
 * origin.
 */
export const codeOrigins = new AsyncLocalStorage<CodeOrigin>();

/** The origin of the code that runs just now; `undefined` for code that is not an agent's. */
export function codeOrigin(): CodeOrigin | undefined {
  const origin = codeOrigins.getStore();
  const node = nodeOfCode();
  return origin && (node === undefined ? origin : { ...origin, node });
}

/** Makes the origin readable for a debugger under {@link originSymbol}, because a debugger cannot import a module. */
export function exposeCodeOrigin(): void {
  Object.defineProperty(globalThis, Symbol.for(originSymbol), {
    value: () => JSON.stringify(codeOrigin() ?? {}),
    configurable: true,
  });
}
