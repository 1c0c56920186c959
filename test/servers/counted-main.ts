import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector/promises';
import { StatementSync } from 'node:sqlite';
import type { Counted, Counts } from './counted.ts';

// The service as `npm start` runs it, which also counts what it does between two messages of its parent.
const statements = new Map<string, number>();
let promises = 0;
let rows = 0;

for (const name of ['all', 'get', 'run', 'iterate'] as const) {
  const { [name]: original } = StatementSync.prototype as unknown as Record<string, (...values: unknown[]) => unknown>;
  if (!original) throw new Error(`a statement has no "${name}"`);
  Object.defineProperty(StatementSync.prototype, name, {
    value(this: StatementSync, ...values: unknown[]) {
      statements.set(this.sourceSQL, (statements.get(this.sourceSQL) ?? 0) + 1);
      const result = original.apply(this, values);
      if (name === 'iterate') countRows(result as { next: () => unknown });
      return result;
    },
  });
}

/** Each row of an iteration is a read of its own. */
function countRows(iterator: { next: () => unknown }): void {
  const next = iterator.next.bind(iterator);
  iterator.next = () => {
    rows += 1;
    return next();
  };
}

const promiseHook = createHook({
  init: (_id, type) => {
    if (type === 'PROMISE') promises += 1;
  },
});

const session = new Session();
session.connect();
const ownFile = /^file:.*\/(?:gateway|protos|services)\//;

/** Calls of functions of ours. */
async function takeCalls(): Promise<number> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => ownFile.test(url) && !url.includes('/node_modules/'))
    .flatMap(({ functions }) => functions)
    .filter(({ functionName, isBlockCoverage }) => functionName !== '' || !isBlockCoverage)
    .reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
}

let heapBytes = 0;

const begin: Readonly<Record<Counted, () => Promise<void>>> = {
  statements: async () => {
    statements.clear();
    rows = 0;
    await Promise.resolve();
  },
  bytes: async () => {
    globalThis.gc?.();
    await Promise.resolve();
    heapBytes = process.memoryUsage().heapUsed;
  },
  promises: async () => {
    promises = 0;
    await Promise.resolve();
    promiseHook.enable();
  },
  calls: async () => {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  },
};

const end: Readonly<Record<Counted, () => Promise<Counts>>> = {
  statements: () => Promise.resolve({ statements: Object.fromEntries(statements), rows }),
  bytes: () => Promise.resolve({ bytes: process.memoryUsage().heapUsed - heapBytes }),
  promises: () => {
    promiseHook.disable();
    return Promise.resolve({ promises });
  },
  calls: async () => {
    const calls = await takeCalls();
    await session.post('Profiler.stopPreciseCoverage');
    return { calls };
  },
};

process.on('message', ({ what, begins }: { readonly what: Counted; readonly begins: boolean }) => {
  void (begins ? begin[what]() : end[what]()).then((counts) => process.send?.(counts ?? {}));
});
process.channel?.unref();

await import('@agent-workflow/standalone/main');
