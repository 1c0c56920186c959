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
