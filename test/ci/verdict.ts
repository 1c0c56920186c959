import type { Outcome } from './record.ts';

/** As many files may fail once and pass alone; more of them are no accident. */
export const mostFlaky = 3;

export interface Failed {
  readonly file: string;
  /** Of its first failure. */
  readonly title: string;
  readonly reason: string;
}

/** Files that failed, each with its first failure. */
export function failedFiles(outcomes: readonly Outcome[]): readonly Failed[] {
  const files = new Map<string, Failed>();
  for (const { what, file, title, reason = '' } of outcomes)
    if (what === 'failed' && !files.has(file)) files.set(file, { file, title, reason });
  return [...files.values()];
}

/**
 * The files that are run once more, alone, because a pass would excuse them: none where one failure is a proof, was outside of every file,
 * or where more files failed than may be flaky, those of earlier commands included.
 */
export function filesToRepeat(outcomes: readonly Outcome[], flakyBefore: number): readonly Failed[] {
  const failed = failedFiles(outcomes);
  const isFinal = outcomes.some(({ what, file, isProof }) => what === 'failed' && (isProof === true || file === ''));
  return isFinal || failed.length + flakyBefore > mostFlaky ? [] : failed;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Of a run and of the files that passed alone: what these did in the run does not count. */
export function countOutcomes(outcomes: readonly Outcome[], repeated: ReadonlyMap<string, readonly Outcome[]>): Counts {
  const counted = [...outcomes.filter(({ file }) => !repeated.has(file)), ...[...repeated.values()].flat()];
  const count = (what: Outcome['what']): number => counted.filter((outcome) => outcome.what === what).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
}

/** Why tests were skipped, the most frequent reason first. */
export function skippedByReason(outcomes: readonly Outcome[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { what, title } of outcomes) {
    if (what !== 'skipped') continue;
    const reason = reasonIn(title);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([reason, count]) => `${String(count)}: ${reason}`);
}

/** Of a suite that is one skipped test, the title; else what stands in brackets behind the title of the test. */
const reasonIn = (title: string): string => (title.endsWith(')') ? title.slice(title.lastIndexOf('(') + 1, -1) : title);
