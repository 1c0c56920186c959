import type {
  ListMessagesReply,
  ListMessagesRequest,
  ListRunsReply,
  ListRunsRequest,
  ListThreadsReply,
  ListThreadsRequest,
  Run,
  Thread,
} from '@agent-workflow/protos/threads';
import { textOf, type Message } from '@agent-workflow/protos/message';
import { containing } from './contains.ts';
import {
  fromMessagesCursor,
  fromRunsCursor,
  fromThreadsCursor,
  toMessagesCursor,
  toRunsCursor,
  toThreadsCursor,
} from './cursor.ts';
import { fromJson, jsonArray } from './json.ts';
import type { Head, LogEntry, RunRecord, ThreadKey, ThreadRow, ThreadStore } from './port.ts';

/** How many of an owner's threads a search looks through, the most recent first. */
const searchedThreads = 10_000;
const pageOfSearch = 500;

export async function listThreads(store: ThreadStore, request: ListThreadsRequest): Promise<ListThreadsReply> {
  const { owner, limit, search } = request;
  const after = request.cursor === undefined ? undefined : fromThreadsCursor(request.cursor);
  const offset = after ? 0 : request.offset;
  const start = after ? { after } : {};
  const rows = search
    ? await takeMatching(threadsFrom(store, owner, start), matchesThread(search.toLowerCase()), offset, limit + 1)
    : await store.listThreads(owner, { limit: limit + 1, offset, ...start });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    threads: page.map(toThread),
    ...(rows.length > limit && last ? { cursor: toThreadsCursor(last) } : {}),
  };
}

export async function listMessages(store: ThreadStore, request: ListMessagesRequest): Promise<ListMessagesReply> {
  const { limit, search } = request;
  const key: ThreadKey = { owner: request.owner, threadId: request.threadId };
  const after = request.cursor === undefined ? -1 : fromMessagesCursor(request.cursor);
  const offset = request.cursor === undefined ? request.offset : 0;
  const entries = search
    ? await takeMatching(messagesFrom(store, key, after), matchesMessage(search.toLowerCase()), offset, limit + 1)
    : await store.listMessages(key, { limit: limit + 1, offset, after });
  const page = entries.slice(0, limit);
  const last = page.at(-1);
  return {
    messagesJson: jsonArray(page.map(({ json }) => json)),
    ...(entries.length > limit && last ? { cursor: toMessagesCursor(last.position) } : {}),
  };
}

export async function listRuns(store: ThreadStore, request: ListRunsRequest, head: Head): Promise<ListRunsReply> {
  const { owner, threadId, limit } = request;
  const start = request.cursor === undefined ? { offset: request.offset } : { after: fromRunsCursor(request.cursor) };
  const rows = await store.listRuns({ owner, threadId }, { limit: limit + 1, ...start });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    runs: page.map((run) => toRun(owner, run, head)),
    ...(rows.length > limit && last ? { cursor: toRunsCursor(last) } : {}),
  };
}

/** More than the steps of one run can add. */
const messagesOfRun = 1_000_000;

/** What a run's steps added, in order. */
export async function listRunMessages(store: ThreadStore, owner: string, run: RunRecord): Promise<Uint8Array> {
  if (run.outputFrom === undefined) return jsonArray([]);
  const range = { after: run.outputFrom - 1, ...(run.outputTo === undefined ? {} : { below: run.outputTo }) };
  const entries = await store.listMessages({ owner, threadId: run.threadId }, { limit: messagesOfRun, ...range });
  return jsonArray(entries.map(({ json }) => json));
}

/** A run as replies show it, beside the head of its thread. */
export const toRun = (owner: string, run: RunRecord, head: Head): Run => ({
  runId: run.runId,
  threadId: run.threadId,
  owner,
  requestId: run.requestId,
  status: run.status,
  granularity: run.granularity,
  createdAt: run.createdAt,
  updatedAt: run.updatedAt,
  ...(run.resumes === undefined ? {} : { resumes: run.resumes }),
  ...(run.end === undefined ? {} : { end: run.end }),
  isNewThread: run.isNewThread,
  runnable: head.activeRun === run.runId,
  ...driverOf(run, head),
});

/** Who drives the run, while somebody does. */
function driverOf(
  { runId }: RunRecord,
  { activeRun, activeStatus, worker, epoch }: Head,
): Pick<Run, 'workerId' | 'epoch'> {
  if (activeRun !== runId || activeStatus !== 'running') return {};
  return { epoch, ...(worker === undefined ? {} : { workerId: worker }) };
}

/** A thread as replies show it. */
export function toThread({ threadId, name, metadata, createdAt, updatedAt, newestRun, version }: ThreadRow): Thread {
  const thread: { -readonly [K in keyof Thread]: Thread[K] } = { threadId, createdAt, updatedAt, version };
  if (name !== undefined) thread.threadName = name;
  if (metadata !== undefined) thread.metadataJson = metadata;
  if (newestRun !== undefined) thread.runId = newestRun;
  return thread;
}

async function* threadsFrom(
  store: ThreadStore,
  owner: string,
  start: { after?: { updatedAt: number; threadId: string } },
): AsyncGenerator<ThreadRow> {
  let mark = start;
  for (let seen = 0; seen < searchedThreads; seen += pageOfSearch) {
    const rows = await store.listThreads(owner, { limit: pageOfSearch, ...mark });
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < pageOfSearch) return;
    mark = { after: last };
  }
}

async function* messagesFrom(store: ThreadStore, key: ThreadKey, start: number): AsyncGenerator<LogEntry> {
  let after = start;
  for (;;) {
    const entries = await store.listMessages(key, { limit: pageOfSearch, after });
    yield* entries;
    const last = entries.at(-1);
    if (!last || entries.length < pageOfSearch) return;
    after = last.position;
  }
}

async function takeMatching<T>(
  items: AsyncIterable<T>,
  matches: (item: T) => boolean,
  skip: number,
  take: number,
): Promise<T[]> {
  const found: T[] = [];
  let skipped = 0;
  for await (const item of items) {
    if (!matches(item)) continue;
    if (skipped++ < skip) continue;
    found.push(item);
    if (found.length === take) break;
  }
  return found;
}

function matchesThread(needle: string): (row: ThreadRow) => boolean {
  const contains = containing(needle);
  return ({ threadId, name = '', metadata }) =>
    contains(threadId.toLowerCase()) ||
    contains(name.toLowerCase()) ||
    (metadata !== undefined && valuesOf(fromJson(metadata)).some((value) => contains(value.toLowerCase())));
}

function matchesMessage(needle: string): (entry: LogEntry) => boolean {
  const contains = containing(needle);
  return ({ json }) => contains(textOf(fromJson(json) as Message).toLowerCase());
}

/** The values of a JSON document, however deep, as text; its keys are not among them. */
function valuesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(valuesOf);
  return [];
}
