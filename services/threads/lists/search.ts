import { contains } from '@agent-workflow/kit/contained';
import { eachOf } from '@agent-workflow/kit/each';
import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { Call } from '@agent-workflow/protos/call';
import { isHiddenField, shownFields } from '@agent-workflow/protos/hidden-fields';
import type { ThreadSort, ThreadStatus } from '@agent-workflow/protos/lists';
import type {
  CountThreadsReply,
  CountThreadsRequest,
  SearchThreadsReply,
  SearchThreadsRequest,
  Thread,
  ThreadFilter,
  ThreadMatch,
} from '@agent-workflow/protos/threads';
import type { ThreadLists, ThreadRow } from '../ports/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import { agentOf } from '../record/head.ts';
import { fromJson, withoutShownDeadlines } from '../record/json.ts';
import { threadBytes } from '../record/row-sizes.ts';
import { sizeOfFields } from '../record/size.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { foundThreadsCursors, startOf, type SortMark } from './cursor.ts';
import { matchesThread, searchedThreads, threadsOf, toThread, withOwnerLock } from './lists.ts';
import { rowsOf } from './paging.ts';

interface Searched {
  readonly store: ThreadLists & ThreadReads;
  readonly texts: StoredTexts;
}

/** Threads that are read together, and so many beyond those that fill a page. */
const testedAtOnce = 32;
const readsAtOnce = 8;

/** What an interrupted thread waits for. */
const waitsForOf = ({ openInterrupts, openCalls }: Head): Pick<Thread, 'waitsFor'> => {
  if (openInterrupts.length > 0) return { waitsFor: 'answer' };
  return openCalls.length > 0 ? { waitsFor: 'tool_results' } : {};
};

const statusOf = (head: Head): ThreadStatus => {
  if (head.activeRun !== undefined) return head.activeStatus ?? 'queued';
  if (waitsForOf(head).waitsFor) return 'interrupted';
  return head.newestRun !== undefined && head.failedRun === head.newestRun ? 'failed' : 'idle';
};

/** What replies show of a thread that was read by itself. */
export const stateOf = (head: Head): Pick<Thread, 'status' | 'waitsFor' | 'ttlSeconds'> => ({
  status: statusOf(head),
  ...(head.activeRun === undefined && waitsForOf(head)),
  ...(head.ttl !== undefined && { ttlSeconds: head.ttl }),
});

type Test = (row: ThreadRow) => boolean | Promise<boolean>;

/** What a search has read of fields so far, in bytes. */
interface Reading {
  fieldBytes: number;
}

/** How much a search by values reads of fields: it then ends as one does that has looked at enough threads. */
const searchedBytes = 256 * 1024 * 1024;

/** The tests of a filter: first those that need the row alone. */
function testsOf(
  { store, texts }: Searched,
  owner: string,
  { filter, reading }: { readonly filter: ThreadFilter; readonly reading: Reading },
): readonly Test[] {
  const { search, agent, statuses, waitsFor, valuesJson } = filter;
  const tests = timeTests(filter);
  if (agent !== undefined) tests.push((row) => agentOf(row) === agent);
  if (search) tests.push(matchesThread(search, texts));
  if (filter.metadataJson ?? filter.metadataIfAnyJson) tests.push(hasMetadata(filter, texts));
  if (statuses.length > 0 || waitsFor !== undefined)
    tests.push(async ({ threadId }) => {
      const head = await store.getHead({ owner, threadId });
      if (!head || head.deleting) return false;
      if (waitsFor !== undefined && (head.activeRun !== undefined || waitsForOf(head).waitsFor !== waitsFor))
        return false;
      return statuses.length === 0 || statuses.includes(statusOf(head));
    });
  if (valuesJson) tests.push(hasValues({ store, texts }, owner, { asked: fromJson(valuesJson) as Values, reading }));
  return tests;
}

function timeTests({ createdFrom, createdTo, updatedFrom, updatedTo }: ThreadFilter): Test[] {
  const tests: Test[] = [];
  if (createdFrom !== undefined) tests.push(({ createdAt }) => createdAt >= createdFrom);
  if (createdTo !== undefined) tests.push(({ createdAt }) => createdAt < createdTo);
  if (updatedFrom !== undefined) tests.push(({ updatedAt }) => updatedAt >= updatedFrom);
  if (updatedTo !== undefined) tests.push(({ updatedAt }) => updatedAt < updatedTo);
  return tests;
}

type Values = Readonly<Record<string, unknown>>;

function hasMetadata({ metadataJson, metadataIfAnyJson }: ThreadFilter, texts: StoredTexts): Test {
  const asked = valuesIn(metadataJson);
  const ifAny = Object.entries(valuesIn(metadataIfAnyJson));
  const needsNone = Object.keys(asked).length === 0;
  const has = (metadata: Uint8Array): boolean => {
    const found = fromJson(metadata) as Values;
    return (
      contains(found, asked) &&
      ifAny.every(([name, value]) => !Object.hasOwn(found, name) || contains(found[name], value))
    );
  };
  return ({ threadId, metadata }) =>
    metadata ? texts.read({ threadId, column: 'thread.metadata' }, () => has(metadata)) === true : needsNone;
}

const valuesIn = (json: Uint8Array | undefined): Values => (json ? (fromJson(json) as Values) : {});

/** Each field is stored with that value. No thread has one that is hidden. */
function hasValues(
  { store, texts }: Searched,
  owner: string,
  { asked, reading }: { readonly asked: Values; readonly reading: Reading },
): Test {
  const entries = Object.entries(asked);
  const names = Object.keys(asked);
  if (names.some(isHiddenField)) return () => false;
  return async ({ threadId }) => {
    const fields = await store.getFields({ owner, threadId }, names);
    reading.fieldBytes += sizeOfFields(fields);
    return entries.every(([name, value]) => {
      const json = Object.hasOwn(fields, name) ? fields[name] : undefined;
      return (
        json &&
        mayBe(json, value) &&
        texts.read({ threadId, column: `field.${name}` }, () => fromJson(json) === value) === true
      );
    });
  };
}

const [quote, brace, bracket] = Buffer.from('"{[');

/** Whether a text may be the JSON of a scalar, by how it begins and how long it is: a code unit has at most six bytes. */
function mayBe(json: Uint8Array, value: unknown): boolean {
  const [first] = json;
  if (first === quote) return typeof value === 'string' && json.byteLength <= 6 * value.length + 2;
  return first !== brace && first !== bracket;
}

async function passes(row: ThreadRow, tests: readonly Test[]): Promise<boolean> {
  for (const test of tests) if (!(await test(row))) return false;
  return true;
}

/** A part of the threads that were looked at: those of them that pass, in their order. */
interface Part {
  readonly rows: readonly ThreadRow[];
  /** Set with the last part, when older threads were not looked at. */
  readonly atLeast: boolean;
}

/** The threads of an owner that pass every test, the most recently updated first, or those of the ids. */
async function* passing(searched: Searched, { owner, filter, after, signal }: Passing): AsyncGenerator<Part> {
  const yielder = createYielder({ signal });
  const reading: Reading = { fieldBytes: 0 };
  const tests = testsOf(searched, owner, { filter, reading });
  const test = async (rows: readonly ThreadRow[]): Promise<readonly ThreadRow[]> => {
    const passed = new Set<ThreadRow>();
    await eachOf(rows, readsAtOnce, async (row) => {
      signal.throwIfAborted();
      if (await passes(row, tests)) passed.add(row);
    });
    if (yielder.isDue()) await yielder.yield();
    return rows.filter((row) => passed.has(row));
  };
  if (filter.threadIds.length > 0) {
    const rows = await rowsNamed(searched.store, owner, filter.threadIds);
    yield { rows: await test(rows), atLeast: false };
    return;
  }
  let batch: ThreadRow[] = [];
  let seen = 0;
  const { updatedFrom = 0 } = filter;
  for await (const row of rowsOf(threadsOf(searched.store, owner), after ?? beginOf(filter))) {
    // The order is that of the last change: none of those that follow passes.
    if (row.updatedAt < updatedFrom) break;
    if (seen++ === searchedThreads) {
      yield { rows: await test(batch), atLeast: true };
      return;
    }
    if (batch.push(row) < testedAtOnce) continue;
    const passed = await test(batch);
    const isEnough = reading.fieldBytes > searchedBytes;
    yield { rows: passed, atLeast: isEnough };
    if (isEnough) return;
    batch = [];
  }
  yield { rows: await test(batch), atLeast: false };
}

/** The list begins with what changed last: what changed after the time asked for need not be read. */
const beginOf = ({ updatedTo }: ThreadFilter): Passing['after'] =>
  updatedTo === undefined ? undefined : { updatedAt: updatedTo, threadId: '' };

interface Passing {
  readonly owner: string;
  readonly filter: ThreadFilter;
  readonly after?: { readonly updatedAt: number; readonly threadId: string } | undefined;
  readonly signal: AbortSignal;
}

/** The threads of these ids, each once, the most recently updated first. */
async function rowsNamed(store: ThreadReads, owner: string, ids: readonly string[]): Promise<readonly ThreadRow[]> {
  const rows: ThreadRow[] = [];
  await eachOf([...new Set(ids)], readsAtOnce, async (threadId) => {
    const row = await rowOf(store, { owner, threadId });
    if (row) rows.push(row);
  });
  return rows.sort((a, b) => b.updatedAt - a.updatedAt || (a.threadId < b.threadId ? 1 : -1));
}

async function rowOf(store: ThreadReads, key: ThreadKey): Promise<ThreadRow | undefined> {
  const head = await store.getHead(key);
  return head && !head.deleting ? { threadId: key.threadId, ...head } : undefined;
}

export const countThreads = (
  searched: Searched,
  { owner, filter }: CountThreadsRequest,
  { signal }: Call,
): Promise<CountThreadsReply> =>
  withOwnerLock(owner, async () => {
    let count = 0;
    let atLeast = false;
    for await (const part of passing(searched, { owner, filter, signal })) {
      count += part.rows.length;
      ({ atLeast } = part);
    }
    return { count, atLeast };
  });

/** Characters of a name by which threads are sorted. */
const sortedCharacters = 256;

type MarkOf = (row: ThreadRow) => SortMark;

/** The place of a thread in each order that its row decides. */
const marksOf: Readonly<Record<Exclude<ThreadSort, 'status'>, MarkOf>> = {
  updated_at: ({ updatedAt, threadId }) => ({ time: updatedAt, text: threadId }),
  created_at: ({ createdAt, threadId }) => ({ time: createdAt, text: threadId }),
  thread_id: ({ threadId }) => ({ time: 0, text: threadId }),
  thread_name: ({ name = '', threadId }) => ({ time: 0, text: `${name.slice(0, sortedCharacters)}\n${threadId}` }),
};

const compareMarks = (a: SortMark, b: SortMark): number =>
  a.time - b.time || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0);

/** A thread that was found, and its place in the order. */
interface Placed {
  readonly row: ThreadRow;
  readonly mark: SortMark;
}

const placedBytes = ({ row }: Placed): number => threadBytes(row);

interface FoundPage {
  readonly rows: readonly Placed[];
  readonly hasMore: boolean;
  readonly atLeast: boolean;
}

/** A page of the threads that pass. */
export const searchThreads = (
  searched: Searched,
  request: SearchThreadsRequest,
  { signal }: Call,
): Promise<SearchThreadsReply> =>
  withOwnerLock(request.owner, async () => {
    const { owner, filter, sortBy, ascending, limit } = request;
    const cursors = foundThreadsCursors({ owner, filter, sortBy, ascending });
    const asked = { owner, filter, limit, ...startOf(cursors, request), signal };
    const isByRecency = sortBy === 'updated_at' && !ascending && filter.threadIds.length === 0;
    const page = isByRecency
      ? await pageByRecency(searched, asked)
      : await pageSorted(searched, { ...asked, sortBy, direction: ascending ? 1 : -1 });
    const { threads, isCut } = await shown(searched, request, page.rows);
    const last = page.rows[threads.length - 1];
    return {
      threads: threads.filter((match) => match !== undefined),
      ...((page.hasMore || isCut) && last ? { cursor: cursors.toCursor(last.mark) } : {}),
      atLeast: page.atLeast,
    };
  });

interface Paging extends Passing {
  readonly limit: number;
  readonly offset: number;
}

/** Looks no further than the page needs. */
async function pageByRecency(
  searched: Searched,
  { limit, offset, after, ...filtered }: Omit<Paging, 'after'> & { readonly after?: SortMark },
): Promise<FoundPage> {
  const found: Placed[] = [];
  let toSkip = offset;
  let bytes = 0;
  let atLeast = false;
  const begin = after && { updatedAt: after.time, threadId: after.text };
  for await (const part of passing(searched, { ...filtered, after: begin })) {
    const rows = part.rows.slice(toSkip).map((row): Placed => ({ row, mark: marksOf.updated_at(row) }));
    toSkip = Math.max(0, toSkip - part.rows.length);
    ({ atLeast } = part);
    found.push(...rows);
    bytes += rows.reduce((sum, placed) => sum + placedBytes(placed), 0);
    if (found.length > limit || (bytes > pageBytes && found.length > 1)) break;
  }
  const { items, hasMore } = toPage(found, { limit, sizeOf: placedBytes });
  return { rows: items, hasMore, atLeast: atLeast && !hasMore };
}

/** Notes the places of all that pass, and reads the threads of the page again: their metadata together may be larger than memory. */
async function pageSorted(
  searched: Searched,
  {
    limit,
    offset,
    after,
    sortBy,
    direction,
    ...filtered
  }: Omit<Paging, 'after'> & {
    readonly after?: SortMark;
    readonly sortBy: ThreadSort;
    readonly direction: 1 | -1;
  },
): Promise<FoundPage> {
  const places: { readonly mark: SortMark; readonly threadId: string }[] = [];
  const place = (threadId: string, mark: SortMark): void => {
    if (!after || direction * compareMarks(mark, after) > 0) places.push({ mark, threadId });
  };
  let atLeast = false;
  for await (const part of passing(searched, filtered)) {
    ({ atLeast } = part);
    if (sortBy === 'status')
      await eachOf(part.rows, readsAtOnce, async ({ threadId }) => {
        const head = await searched.store.getHead({ owner: filtered.owner, threadId });
        if (head && !head.deleting) place(threadId, { time: 0, text: `${statusOf(head)}\n${threadId}` });
      });
    else for (const row of part.rows) place(row.threadId, marksOf[sortBy](row));
  }
  places.sort((a, b) => direction * compareMarks(a.mark, b.mark));
  const rows: Placed[] = [];
  let bytes = 0;
  for (const { threadId, mark } of places.slice(offset)) {
    const row = await rowOf(searched.store, { owner: filtered.owner, threadId });
    if (!row) continue;
    rows.push({ row, mark });
    bytes += threadBytes(row);
    if (rows.length > limit || bytes > pageBytes) break;
  }
  const { items, hasMore } = toPage(rows, { limit, sizeOf: placedBytes });
  return { rows: items, hasMore, atLeast };
}

/** The threads as replies show them, in their order; those that are gone meanwhile are `undefined`. */
async function shown(
  { store, texts }: Searched,
  { owner, withQuestions, withValues }: Pick<SearchThreadsRequest, 'owner' | 'withQuestions' | 'withValues'>,
  rows: readonly Placed[],
): Promise<{ readonly threads: readonly (ThreadMatch | undefined)[]; readonly isCut: boolean }> {
  const threads: (ThreadMatch | undefined)[] = [];
  let bytes = 0;
  for (let at = 0; at < rows.length; at += readsAtOnce) {
    const some = rows.slice(at, at + readsAtOnce);
    const matches = new Map<ThreadRow, ThreadMatch>();
    await eachOf(some, readsAtOnce, async ({ row }) => {
      const head = await store.getHead({ owner, threadId: row.threadId });
      if (!head || head.deleting) return;
      const questions = withQuestions ? await questionsOf(store, { owner, threadId: row.threadId }, head) : {};
      const thread = toThread(texts.withMetadata(row.threadId, 'thread', { ...head, threadId: row.threadId }));
      const values = withValues
        ? { valuesJson: await valuesOf({ store, texts }, { owner, threadId: row.threadId }) }
        : {};
      matches.set(row, { thread: { ...thread, ...stateOf(head) }, ...questions, ...values });
    });
    for (const { row } of some) {
      const match = matches.get(row);
      bytes += threadBytes(row) + (match?.interruptsJson?.byteLength ?? 0) + (match?.valuesJson?.byteLength ?? 0);
      if (bytes > pageBytes && threads.length > 0) return { threads, isCut: true };
      threads.push(match);
    }
  }
  return { threads, isCut: false };
}

/** The stored fields as one JSON object, without what cannot be read. */
async function valuesOf({ store, texts }: Searched, key: ThreadKey): Promise<Uint8Array> {
  const { fields } = await texts.state(key.threadId, { fields: await store.getFields(key), context: [] });
  const members = Object.entries(shownFields(fields)).map(
    ([name, json]) => `${JSON.stringify(name)}:${Buffer.from(json).toString()}`,
  );
  return Buffer.from(`{${members.join(',')}}`);
}

/** The questions that the thread waits to be answered, with the deadlines that count, and the run that asked them. */
async function questionsOf(
  store: ThreadReads,
  { owner, threadId }: ThreadKey,
  { activeRun, openInterrupts, interruptedRun }: Head,
): Promise<Pick<ThreadMatch, 'interruptsJson' | 'askedBy'>> {
  if (activeRun !== undefined || openInterrupts.length === 0 || interruptedRun === undefined) return {};
  const asking = await store.getRun(owner, interruptedRun);
  // A fork asks what a run of another thread has asked, and waits without its deadlines.
  const isOwn = asking?.threadId === threadId;
  const askedBy = isOwn ? { askedBy: interruptedRun } : {};
  const json = asking?.end?.interruptsJson;
  if (json === undefined) return askedBy;
  const counts = isOwn && asking.wakeAt !== undefined;
  return { ...askedBy, interruptsJson: Buffer.from(counts ? json : withoutShownDeadlines(json)) };
}
