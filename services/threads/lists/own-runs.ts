import { defaultAgent } from '@agent-workflow/kit/agents';
import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { Call } from '@agent-workflow/protos/call';
import type {
  CountRunsReply,
  CountRunsRequest,
  ListOwnRunsReply,
  ListOwnRunsRequest,
} from '@agent-workflow/protos/threads';
import type { OwnRunRow, RunMark, ThreadLists } from '../ports/lists.ts';
import { ownRunBytes } from '../record/row-sizes.ts';
import { ownRunsCursors } from './cursor.ts';
import { toProtoRun, withOwnerLock } from './lists.ts';
import { createRunCounts } from './run-counts.ts';
import { runTest, type RunSelection } from './run-filter.ts';

/** Runs that one page reads at most, and those that one request to the store reads. */
const runsOfPage = 2000;
const runsAtOnce = 500;

/** Runs of an owner that are counted at most, the newest. */
const countedRuns = 10_000;

/** Requests to the store that one page takes at most, and one counting: a request gives fewer runs than it asks for where runs are large. */
const readsOfPage = 16;
const readsOfCounts = 64;

interface Reading extends RunSelection {
  readonly owner: string;
  readonly after?: RunMark | undefined;
  /** Runs that the first request to the store reads, and all of them at most. */
  readonly first: number;
  readonly most: number;
  readonly mostReads: number;
  readonly signal: AbortSignal;
  readonly now: number;
}

/** The runs of one request to the store that pass, the newest first. */
interface Part {
  readonly runs: readonly OwnRunRow[];
  /** After which run more may pass; absent where none can. */
  readonly next: RunMark | undefined;
}

/** The runs of an owner that are asked for. It ends after the first run before `filter.from`, or when it has read its share. */
async function* passing(store: ThreadLists, reading: Reading): AsyncGenerator<Part> {
  const { owner, agent, filter, after, first, most, mostReads, signal, now } = reading;
  const { from = 0, to } = filter ?? {};
  const yielder = createYielder({ signal });
  const passes = runTest(reading, now);
  // A store knows the threads of `default` by having no agent.
  const agentFilter = agent === defaultAgent ? undefined : agent;
  let mark = after ?? (to === undefined ? undefined : { createdAt: to, runId: '' });
  for (let left = most, size = first, reads = 0; left > 0 && reads < mostReads; size *= 2, reads += 1) {
    size = Math.min(size, left, Math.max(runsAtOnce, first));
    const { runs, next } = await store.listOwnRuns(owner, {
      ...{ limit: size, after: mark, bytes: pageBytes, agent: agentFilter },
    });
    left -= runs.length;
    const found: OwnRunRow[] = [];
    for (const run of runs) {
      if (yielder.isDue()) await yielder.yield();
      if (passes(run)) found.push(run);
    }
    mark = next && next.createdAt >= from ? next : undefined;
    yield { runs: found, next: mark };
    if (!mark) return;
    await yielder.yield();
  }
}

/**
 * A page of an owner's runs. It ends when it is full, or when it has read its share of runs of which few match: then its cursor is
 * after the last run that was read.
 */
export async function listOwnRuns(
  store: ThreadLists,
  { owner, limit, cursor, ...selection }: ListOwnRunsRequest,
  { signal }: Call,
  now: number,
): Promise<ListOwnRunsReply> {
  const { toCursor, fromCursor } = ownRunsCursors({ owner, ...selection });
  const found: OwnRunRow[] = [];
  let bytes = 0;
  let after = cursor === undefined ? undefined : fromCursor(cursor);
  const most = Math.max(runsOfPage, limit + 1);
  const reading = { ...selection, owner, after, first: limit + 1, most, mostReads: readsOfPage, signal, now };
  for await (const { runs, next } of passing(store, reading)) {
    found.push(...runs);
    bytes += runs.reduce((sum, run) => sum + ownRunBytes(run), 0);
    after = next;
    if (found.length > limit || bytes > pageBytes) break;
  }
  const { items, hasMore } = toPage(found, { limit, sizeOf: ownRunBytes });
  const last = items.at(-1);
  const end = hasMore && last ? last : after;
  return {
    runs: items.map((run) => toProtoRun(owner, run, run.head)),
    ...(end ? { cursor: toCursor(end) } : {}),
  };
}

/** How many runs pass a filter, by day and status, and how long they took. @throws Invalid for an unknown time zone. */
export function countRuns(
  store: ThreadLists,
  { owner, timeZone, ...selection }: CountRunsRequest,
  { signal }: Call,
  now: number,
): Promise<CountRunsReply> {
  const counts = createRunCounts(timeZone);
  return withOwnerLock(owner, async () => {
    let next: RunMark | undefined;
    const reading = {
      ...selection,
      owner,
      first: runsAtOnce,
      most: countedRuns,
      mostReads: readsOfCounts,
      signal,
      now,
    };
    for await (const part of passing(store, reading)) {
      for (const run of part.runs) counts.add(run, now);
      ({ next } = part);
    }
    return { ...counts.read(), atLeast: next !== undefined };
  });
}
