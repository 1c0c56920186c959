import { defaultAgent } from '@agent-workflow/kit/agents';
import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { Cursors } from '@agent-workflow/kit/cursors';
import type { Call } from '@agent-workflow/protos/call';
import type {
  CountRunsReply,
  CountRunsRequest,
  ListAllRunsReply,
  ListAllRunsRequest,
  ListOwnRunsReply,
  ListOwnRunsRequest,
} from '@agent-workflow/protos/threads';
import type { AnyRunRow, OwnRunRow, RunMark, ThreadLists } from '../ports/lists.ts';
import { ownRunBytes } from '../record/row-sizes.ts';
import { allRunsCursors, ownRunsCursors } from './cursor.ts';
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

interface Reading<R extends OwnRunRow> extends RunSelection {
  /** Reads a part of the list. */
  readonly read: (page: {
    readonly limit: number;
    readonly after: RunMark | undefined;
    readonly bytes: number;
  }) => Promise<{ readonly runs: readonly R[]; readonly next?: RunMark }>;
  /** Beside what the selection says. */
  readonly isListed?: (run: R) => boolean;
  readonly after?: RunMark | undefined;
  /** Runs that the first request to the store reads, and all of them at most. */
  readonly first: number;
  readonly most: number;
  readonly mostReads: number;
  readonly signal: AbortSignal;
  readonly now: number;
}

/** The runs of one request to the store that pass, the newest first. */
interface Part<R extends OwnRunRow> {
  readonly runs: readonly R[];
  /** After which run more may pass; absent where none can. */
  readonly next: RunMark | undefined;
}

/** The runs of a list that are asked for. It ends after the first run before `filter.from`, or when it has read its share. */
async function* passing<R extends OwnRunRow>(reading: Reading<R>): AsyncGenerator<Part<R>> {
  const { read, isListed = () => true, filter, after, first, most, mostReads, signal, now } = reading;
  const { from = 0, to } = filter ?? {};
  const yielder = createYielder({ signal });
  const passes = runTest(reading, now);
  let mark = after ?? (to === undefined ? undefined : { createdAt: to, runId: '' });
  for (let left = most, size = first, reads = 0; left > 0 && reads < mostReads; size *= 2, reads += 1) {
    size = Math.min(size, left, Math.max(runsAtOnce, first));
    const { runs, next } = await read({ limit: size, after: mark, bytes: pageBytes });
    left -= runs.length;
    const found: R[] = [];
    for (const run of runs) {
      if (yielder.isDue()) await yielder.yield();
      if (passes(run) && isListed(run)) found.push(run);
    }
    mark = next && next.createdAt >= from ? next : undefined;
    yield { runs: found, next: mark };
    if (!mark) return;
    await yielder.yield();
  }
}

/** The list of an owner. A store knows the threads of `default` by having no agent. */
const ownList =
  (store: ThreadLists, owner: string, agent: string | undefined): Reading<OwnRunRow>['read'] =>
  (page) =>
    store.listOwnRuns(owner, { ...page, agent: agent === defaultAgent ? undefined : agent });

/** A page of an owner's runs. */
export async function listOwnRuns(
  store: ThreadLists,
  { owner, limit, cursor, ...selection }: ListOwnRunsRequest,
  call: Call,
  now: number,
): Promise<ListOwnRunsReply> {
  const read = ownList(store, owner, selection.agent);
  const cursors = ownRunsCursors({ owner, ...selection });
  const { runs, next } = await pageOf({ ...selection, read, now }, { limit, cursor, cursors }, call);
  return { runs: runs.map((run) => toProtoRun(owner, run, run.head)), ...next };
}

/** A page of the runs of all owners. */
export async function listAllRuns(
  store: ThreadLists,
  { limit, cursor, newestOfThread, waiting, owner, ...selection }: ListAllRunsRequest,
  call: Call,
  now: number,
): Promise<ListAllRunsReply> {
  const isListed = (run: AnyRunRow): boolean =>
    (!newestOfThread || run.head.newestRun === run.runId) && (!waiting || run.head.interruptedRun === run.runId);
  const cursors = allRunsCursors({ newestOfThread, waiting, owner, ...selection });
  const read = owner === undefined ? store.listAllRuns : withOwner(owner, ownList(store, owner, selection.agent));
  const reading = { ...selection, read, isListed, now };
  const { runs, next } = await pageOf(reading, { limit, cursor, cursors }, call);
  return { runs: runs.map((run) => toProtoRun(run.owner, run, run.head)), ...next };
}

/** The list of one owner, as a part of that of all. */
const withOwner =
  (owner: string, read: Reading<OwnRunRow>['read']): Reading<AnyRunRow>['read'] =>
  async (page) => {
    const { runs, ...part } = await read(page);
    return { runs: runs.map((run) => ({ ...run, owner })), ...part };
  };

interface PageRequest {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly cursors: Cursors<RunMark>;
}

/** It ends when it is full, or when it has read its share of runs of which few match: then its cursor is after the last run that was read. */
async function pageOf<R extends OwnRunRow>(
  reading: Pick<Reading<R>, 'read' | 'isListed' | 'now' | keyof RunSelection>,
  { limit, cursor, cursors: { toCursor, fromCursor } }: PageRequest,
  { signal }: Call,
): Promise<{ readonly runs: readonly R[]; readonly next: { readonly cursor?: string } }> {
  const found: R[] = [];
  let bytes = 0;
  let after = cursor === undefined ? undefined : fromCursor(cursor);
  const most = Math.max(runsOfPage, limit + 1);
  for await (const part of passing({ ...reading, after, first: limit + 1, most, mostReads: readsOfPage, signal })) {
    found.push(...part.runs);
    bytes += part.runs.reduce((sum, run) => sum + ownRunBytes(run), 0);
    after = part.next;
    if (found.length > limit || bytes > pageBytes) break;
  }
  const { items, hasMore } = toPage(found, { limit, sizeOf: ownRunBytes });
  const last = items.at(-1);
  const end = hasMore && last ? last : after;
  return { runs: items, next: end ? { cursor: toCursor(end) } : {} };
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
      read: ownList(store, owner, selection.agent),
      first: runsAtOnce,
      most: countedRuns,
      mostReads: readsOfCounts,
      signal,
      now,
    };
    for await (const part of passing(reading)) {
      for (const run of part.runs) counts.add(run, now);
      ({ next } = part);
    }
    return { ...counts.read(), atLeast: next !== undefined };
  });
}
