import type { Mark } from './undo.ts';

/**
 * What a thread is brought back to, or forked at, without answers that others have given since its graph began: they count for what they were given to,
 * once. Nothing goes on there, whether the thread waits, was paused or has failed behind them: what comes next begins at the start of the graph, which
 * asks again.
 */
export function withoutApproval(mark: Mark): Mark {
  if (!mark.answeredByOthers) return mark;
  const { answeredByOthers: _, addressed: _questions, interruptedRun: _run, progress: _progress, ...bare } = mark;
  return { ...bare, next: [], openInterrupts: [] };
}
