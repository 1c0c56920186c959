import type { Run, RunError } from '@agent-workflow/client';

/** What a page of runs says of one that the client's types leave open. */
interface RunFacts {
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Why it failed. */
  readonly error?: RunError;
  readonly resumes?: string;
  readonly iterations?: number;
}

export function factsOf(run: Run): RunFacts {
  const { resumes, iterations, error } = run;
  return {
    createdAt: Date.parse(String(run['created_at'])),
    updatedAt: Date.parse(String(run['updated_at'])),
    ...(typeof resumes === 'string' && { resumes }),
    ...(typeof iterations === 'number' && { iterations }),
    ...(error && { error }),
  };
}

/**
 * A list whose first page was read again: the page, and of the list what comes after it. `undefined` when the page does not reach
 * what was listed before, so that runs between the two are unknown.
 */
export function withFirstPage(
  listed: readonly Run[],
  page: { readonly runs: readonly Run[]; readonly isWhole: boolean },
): readonly Run[] | undefined {
  if (page.isWhole) return page.runs;
  const inPage = new Set(page.runs.map(({ run_id: id }) => id));
  const at = listed.findLastIndex(({ run_id: id }) => inPage.has(id));
  return at < 0 ? undefined : [...page.runs, ...listed.slice(at + 1)];
}
