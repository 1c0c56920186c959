import { defaultAgent } from '@agent-workflow/kit/agents';
import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { createYielder } from '@agent-workflow/kit/yielder';
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
import { allRunsCursors, ownRunsCursors, type ListEnd } from './cursor.ts';
import { toProtoRun, withOwnerLock } from './lists.ts';
import { createRunCounts } from './run-counts.ts';
import { runTest, type RunSelection } from './run-filter.ts';

/** Runs that one page reads at most, and those that one request to the store reads. */
const runsOfPage = 2000;
const runsAtOnce = 500;

/** Runs of an owner that are counted at most, and of all owners that are listed, the newest. */
const newestRuns = 10_000;

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

interface Passing<R> {
  readonly run: R;
  /** How many runs of the list were read up to this one, with it. */
  readonly read: number;
}

/** The runs of one request to the store that pass, the newest first. */
interface Part<R extends OwnRunRow> {
  readonly found: readonly Passing<R>[];
  /** After which run more may pass; absent where none can. */
  readonly next: ListEnd | undefined;
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
    const found: Passing<R>[] = [];
    for (const run of runs) {
      if (yielder.isDue()) await yielder.yield();
      left -= 1;
      if (passes(run) && isListed(run)) found.push({ run, read: most - left });
    }
    mark = next && next.createdAt >= from ? next : undefined;
    yield { found, next: mark && { mark, read: most - left } };
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
  const { toCursor, fromCursor } = ownRunsCursors({ owner, ...selection });
  const after = cursor === undefined ? undefined : fromCursor(cursor);
  const { runs, end } = await pageOf({ ...selection, read, now, after }, { limit, most: Infinity }, call);
  return { runs: runs.map((run) => toProtoRun(owner, run, run.head)), ...(end && { cursor: toCursor(end.mark) }) };
}

/** A page of the newest 10,000 runs of all owners. */
export async function listAllRuns(
  store: ThreadLists,
  { limit, cursor, newestOfThread, waiting, owner, ...selection }: ListAllRunsRequest,
  call: Call,
  now: number,
): Promise<ListAllRunsReply> {
  const isListed = (run: AnyRunRow): boolean =>
    (!newestOfThread || run.head.newestRun === run.runId) && (!waiting || run.head.interruptedRun === run.runId);
  const { toCursor, fromCursor } = allRunsCursors({ newestOfThread, waiting, owner, ...selection });
  const start = cursor === undefined ? undefined : fromCursor(cursor);
  const readBefore = start?.read ?? 0;
  const read = owner === undefined ? store.listAllRuns : withOwner(owner, ownList(store, owner, selection.agent));
  const reading = { ...selection, read, isListed, now, after: start?.mark };
  const { runs, end } = await pageOf(reading, { limit, most: newestRuns - readBefore }, call);
  const next = end && { ...end, read: readBefore + end.read };
  const atLeast = next !== undefined && next.read >= newestRuns;
  return {
    runs: runs.map((run) => toProtoRun(run.owner, run, run.head)),
    ...(next && !atLeast && { cursor: toCursor(next) }),
    atLeast,
  };
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
  /** Runs that are left to be read of the list. */
  readonly most: number;
}

/** It ends when it is full, or when it has read its share of runs of which few match: then its end is the last run that was read. */
async function pageOf<R extends OwnRunRow>(
  reading: Pick<Reading<R>, 'read' | 'isListed' | 'now' | 'after' | keyof RunSelection>,
  { limit, most: left }: PageRequest,
  { signal }: Call,
): Promise<{ readonly runs: readonly R[]; readonly end?: ListEnd | undefined }> {
  const found: Passing<R>[] = [];
  let bytes = 0;
  let end: ListEnd | undefined;
  const most = Math.min(Math.max(runsOfPage, limit + 1), left);
  for await (const part of passing({ ...reading, first: limit + 1, most, mostReads: readsOfPage, signal })) {
    found.push(...part.found);
    bytes += part.found.reduce((sum, { run }) => sum + ownRunBytes(run), 0);
    end = part.next;
    if (found.length > limit || bytes > pageBytes) break;
  }
  const { items, hasMore } = toPage(found, { limit, sizeOf: ({ run }) => ownRunBytes(run) });
  const last = items.at(-1);
  return {
    runs: items.map(({ run }) => run),
    end: hasMore && last ? { mark: last.run, read: last.read } : end,
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
    let next: ListEnd | undefined;
    const reading = {
      ...selection,
      read: ownList(store, owner, selection.agent),
      first: runsAtOnce,
      most: newestRuns,
      mostReads: readsOfCounts,
      signal,
      now,
    };
    for await (const part of passing(reading)) {
      for (const { run } of part.found) counts.add(run, now);
      ({ next } = part);
    }
    return { ...counts.read(), atLeast: next !== undefined };
  });
}
