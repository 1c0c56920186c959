import type { RunControl } from '../../ports/control.ts';

/** Passes stops between the parts of one process. */
export function openInProcessRunControl(): RunControl {
  const listeners = new Set<(runId: string) => void>();
  return {
    stop: (runId) => {
      for (const listener of listeners) listener(runId);
    },

    onStop: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },

    [Symbol.asyncDispose]: () => {
      listeners.clear();
      return Promise.resolve();
    },
  };
}
