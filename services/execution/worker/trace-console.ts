import { format } from 'node:util';
import { tracedCode } from '@agent-workflow/graph/trace/current-span';

const levels = ['debug', 'log', 'info', 'warn', 'error'] as const;
type Writers = Record<(typeof levels)[number], (...parts: unknown[]) => void>;

/** How many want the lines: the console is changed for the first, and put back after the last. */
let users = 0;
let before: Readonly<Writers> | undefined;

/** Lets what the code of nodes and tools writes to the console stand in their traces, too, until the result is disposed of. */
export function traceConsole(): Disposable {
  if (users++ === 0) before = watch(globalThis.console);
  let isOver = false;
  return {
    [Symbol.dispose]: () => {
      if (isOver) return;
      isOver = true;
      if (--users > 0 || !before) return;
      for (const level of levels) globalThis.console[level] = before[level];
    },
  };
}

/** Gives the methods as they were. */
function watch(writers: Writers): Readonly<Writers> {
  const known = { ...writers };
  for (const level of levels)
    writers[level] = (...parts) => {
      known[level].apply(writers, parts);
      note(level, parts);
    };
  return known;
}

/** What is logged may be any value: one that cannot be written is not worth a failed node. */
function note(level: string, parts: readonly unknown[]): void {
  const code = tracedCode();
  if (!code) return;
  try {
    code.span.log(level, format(...parts));
  } catch {
    code.span.log(level, 'what cannot be shown');
  }
}
