import { within } from '@agent-workflow/protos/call';
import type { Run, SweepCalls } from '@agent-workflow/protos/threads';

type ListsOpenRuns = Pick<SweepCalls, 'listOpenRuns'>;

interface PagesOptions {
  /** Runs of a page at most. */
  readonly limit?: number;
  /** No when absent. */
  readonly newestFirst?: boolean;
}

interface OpenRunsPage {
  readonly runs: readonly Run[];
  readonly newestFirst: boolean;
}

/** Runs read at once: so few that one page blocks the process only briefly. */
const runsAtOnce = 100;
const callTimeoutMs = 30_000;

/** Every run that has not ended, in pages. */
export async function* openRuns(
  threads: ListsOpenRuns,
  { limit = runsAtOnce, newestFirst = false }: PagesOptions = {},
): AsyncGenerator<readonly Run[]> {
  const order = newestFirst ? { newestFirst } : {};
  for (let cursor: string | undefined; ;) {
    const from = cursor === undefined ? {} : { cursor };
    const page = await threads.listOpenRuns({ limit, ...order, ...from }, within(callTimeoutMs));
    yield page.runs;
    ({ cursor } = page);
    if (cursor === undefined) return;
  }
}

/** The same, the oldest first. */
export async function* openRunsInOrder(threads: ListsOpenRuns, limit: number): AsyncGenerator<OpenRunsPage> {
  for await (const runs of openRuns(threads, { limit })) yield { runs, newestFirst: false };
}

/**
 * The same from both ends in turn, until they meet. What a dead process had is mostly at one of them: of a backlog that its own worker served the
 * oldest runs, beside a backlog of others the newest.
 */
export async function* openRunsFromBothEnds(threads: ListsOpenRuns, limit: number): AsyncGenerator<OpenRunsPage> {
  const seen = new Set<string>();
  const ends = new Map([false, true].map((newestFirst) => [newestFirst, openRuns(threads, { limit, newestFirst })]));
  while (ends.size > 0) {
    for (const [newestFirst, end] of ends) {
      const page = await end.next();
      if (page.done === true) {
        ends.delete(newestFirst);
        continue;
      }
      const runs = page.value.filter(({ runId }) => !seen.has(runId));
      for (const { runId } of runs) seen.add(runId);
      yield { runs, newestFirst };
      if (runs.length < page.value.length) return;
    }
  }
}
