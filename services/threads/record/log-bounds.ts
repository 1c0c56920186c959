import type { MessagesPage } from '../ports/lists.ts';

/** The positions between which the entries of a page of the log are: above the one, below the other. */
export function logBounds({ after, below = Number.MAX_SAFE_INTEGER, newestFirst = false }: MessagesPage): {
  readonly above: number;
  readonly below: number;
} {
  return newestFirst ? { above: -1, below: Math.min(after ?? below, below) } : { above: after ?? -1, below };
}
