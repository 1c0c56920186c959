import type { Call } from '@agent-workflow/protos/call';
import type {
  ListMessagesReply,
  ListMessagesRequest,
  ListRunMessagesReply,
  ListRunMessagesRequest,
  ListRunsReply,
  ListRunsRequest,
  ListThreadsReply,
  ListThreadsRequest,
  Run,
  Thread,
} from '@agent-workflow/protos/threads';
import { defaultAgent } from '@agent-workflow/kit/agents';
import { textOf, type Message } from '@agent-workflow/protos/message';
import { createKeyedLock } from '@agent-workflow/kit/keyed-lock';
import type { Page } from '@agent-workflow/kit/pages';
import { finding } from './contains.ts';
import { messagesCursors, nextOf, runMessagesCursors, runsCursors, startOf, threadsCursors } from './cursor.ts';
import { agentOf, toCheckpointId } from '../record/head.ts';
import { fromJson, jsonArray } from '../record/json.ts';
import { revisionOf } from './run-filter.ts';
import { nodesOf, questionOf } from '../record/run-place.ts';
import { readPage, searchPage, type Listing, type SearchRequest } from './paging.ts';
import type { MessagesPage, OwnRunRow, RecencyMark, RunMark, RunRow, ThreadLists, ThreadRow } from '../ports/lists.ts';
import type { Head, LogEntry, RunRecord, ThreadKey } from '../ports/record.ts';
import { messageBytes, runBytes, threadBytes } from '../record/row-sizes.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import { titleOf } from '../record/title.ts';

/** The rows of lists, and what is left out of them. */
interface Listed {
  readonly store: ThreadLists;
  readonly texts: StoredTexts;
}

/** How many of an owner's threads a search reads, the most recent first. */
export const searchedThreads = 10_000;

export const threadsOf = (store: ThreadLists, owner: string): Listing<ThreadRow, RecencyMark> => ({
  read: (page) => store.listThreads(owner, page),
  markOf: ({ updatedAt, threadId }) => ({ updatedAt, threadId }),
  sizeOf: threadBytes,
});

const messagesOf = (
  store: ThreadLists,
  key: ThreadKey,
  part: Pick<MessagesPage, 'below' | 'newestFirst'>,
): Listing<LogEntry, number> => ({
  read: (page) => store.listMessages(key, { ...page, ...part }),
  markOf: ({ position }) => position,
  sizeOf: messageBytes,
});

const runsOf = (store: ThreadLists, key: ThreadKey): Listing<RunRow, RunMark> => ({
  read: (page) => store.listRuns(key, page),
  markOf: ({ createdAt, runId }) => ({ createdAt, runId }),
  sizeOf: runBytes,
});

/**
 * A search reads every row that it tests, so each owner has one search at a time: several at once would end no sooner, and would
 * slow down the calls of other owners.
 */
export const withOwnerLock = createKeyedLock();

const searchOneAtATime = async <Row, Mark>(
  owner: string,
  listing: Listing<Row, Mark>,
  request: SearchRequest<Row, Mark>,
): Promise<Page<Row>> =>
  withOwnerLock(owner, async () => {
    request.signal.throwIfAborted();
    return searchPage(listing, request);
  });

export async function listThreads(
  { store, texts }: Listed,
  request: ListThreadsRequest,
  { signal }: Call,
): Promise<ListThreadsReply> {
  const { owner, limit, search } = request;
  const cursors = threadsCursors(request);
  const listing = threadsOf(store, owner);
  const asked = { limit, ...startOf(cursors, request), signal };
  const page = search
    ? await searchOneAtATime(owner, listing, {
        ...asked,
        matches: matchesThread(search, texts),
        most: searchedThreads,
      })
    : await readPage(listing, asked);
  const threads = page.items.map((row) => toThread(texts.withMetadata(row.threadId, 'thread', row)));
  return { threads, ...nextOf(page, { ...listing, ...cursors }) };
}

/** `after`: the position behind which the page begins, in place of a cursor. */
export async function listMessages(
  { store, texts }: Listed,
  request: ListMessagesRequest & { readonly after?: number | undefined },
  { signal }: Call,
): Promise<ListMessagesReply> {
  const { owner, threadId, limit, search, newestFirst, after } = request;
  const cursors = messagesCursors(request);
  const listing = messagesOf(store, { owner, threadId }, { newestFirst });
  const start = after === undefined ? startOf(cursors, request) : { offset: 0, after };
  const asked = { limit, ...start, signal };
  const page = search
    ? await searchOneAtATime(owner, listing, {
        ...asked,
        matches: matchesMessage(search, threadId, texts),
      })
    : await readPage(listing, asked);
  const messagesJson = await texts.messagesJson(threadId, page.items, { show: withCheckpointId, signal });
  return { messagesJson, ...nextOf(page, { ...listing, ...cursors }) };
}

/** The JSON of a message as replies show it: with the id of its checkpoint after its own fields, none of which has that name. */
const withCheckpointId = (text: string, { version }: Pick<LogEntry, 'version'>): string =>
  version === undefined ? text : `${text.slice(0, -1)},"checkpoint_id":"${toCheckpointId(version)}"}`;

/** A message as replies show it. */
export const toMessageJson = ({ json, version }: Pick<LogEntry, 'json' | 'version'>): Uint8Array =>
  version === undefined ? json : Buffer.from(withCheckpointId(Buffer.from(json).toString(), { version }));

export async function listRuns(
  store: ThreadLists,
  request: ListRunsRequest,
  head: Head,
  { signal }: Call,
): Promise<ListRunsReply> {
  const { owner, threadId, limit } = request;
  const cursors = runsCursors(request);
  const listing = runsOf(store, { owner, threadId });
  const page = await readPage(listing, { limit, ...startOf(cursors, request), signal });
  return { runs: page.items.map((run) => toProtoRun(owner, run, head)), ...nextOf(page, { ...listing, ...cursors }) };
}

/** Messages of a run that one page holds at most. */
const messagesAtOnce = 1000;

/** A page of what a run's steps added, in order. */
export async function listRunMessages(
  { store, texts }: Listed,
  { owner, runId, cursor }: ListRunMessagesRequest,
  run: RunRecord,
  { signal }: Call,
): Promise<ListRunMessagesReply> {
  if (run.outputFrom === undefined) return { messagesJson: jsonArray([]) };
  const listing = messagesOf(store, { owner, threadId: run.threadId }, { below: run.outputTo });
  const cursors = runMessagesCursors({ owner, runId });
  const after = Math.max(run.outputFrom - 1, cursor === undefined ? -1 : cursors.fromCursor(cursor));
  const page = await readPage(listing, { limit: messagesAtOnce, offset: 0, after, signal });
  const messagesJson = await texts.messagesJson(run.threadId, page.items, { show: (text) => text, signal });
  return { messagesJson, ...nextOf(page, { ...listing, ...cursors }) };
}

/** A run as replies show it, beside the head of its thread. */
export const toProtoRun = (owner: string, run: RunRow, head: OwnRunRow['head']): Run => ({
  runId: run.runId,
  threadId: run.threadId,
  owner,
  requestId: run.requestId,
  status: run.status,
  granularity: run.granularity,
  createdAt: run.createdAt,
  updatedAt: run.updatedAt,
  ...(run.resumes === undefined ? {} : { resumes: run.resumes }),
  ...(run.resumedBy === undefined ? {} : { resumedBy: run.resumedBy }),
  ...(run.end === undefined ? {} : { end: run.end }),
  ...(run.usage === undefined ? {} : { usageJson: run.usage }),
  isNewThread: run.isNewThread,
  runnable: head.activeRun === run.runId && head.activeStatus !== 'sleeping',
  ...((run.status === 'sleeping' || run.status === 'interrupted') && run.wakeAt !== undefined
    ? { wakeAt: run.wakeAt }
    : {}),
  ...driverOf(run, head),
  agent: head.agent ?? defaultAgent,
  ...servedBy({ ...run, head }),
  ...(run.priority === undefined ? {} : { priority: run.priority }),
  ...(run.startedAt === undefined ? {} : { startedAt: run.startedAt }),
  ...(run.ordinal === undefined ? {} : { ordinal: run.ordinal }),
  ...threadTitle(head),
  nodes: nodesOf(run, head),
  ...questionOf(run, head),
});

const threadTitle = (head: OwnRunRow['head']): Pick<Run, 'threadTitle'> => {
  const title = titleOf(head);
  return title === undefined ? {} : { threadTitle: title };
};

const servedBy = (run: OwnRunRow): Pick<Run, 'revision'> => {
  const revision = revisionOf(run);
  return revision === undefined ? {} : { revision };
};

/** Who drives the run, while somebody does, and by which claim; of a sleeping run, after which claims. */
function driverOf(
  { runId }: RunRow,
  { activeRun, activeStatus, worker, epoch }: OwnRunRow['head'],
): Pick<Run, 'workerId' | 'epoch'> {
  if (activeRun !== runId || (activeStatus !== 'running' && activeStatus !== 'sleeping')) return {};
  return { epoch, ...(worker === undefined ? {} : { workerId: worker }) };
}

/** A thread as replies show it. */
export function toThread(row: ThreadRow): Thread {
  const { threadId, name, metadata, createdAt, updatedAt, newestRun, version } = row;
  const agent = agentOf(row);
  const thread: { -readonly [K in keyof Thread]: Thread[K] } = { threadId, createdAt, updatedAt, version };
  if (name !== undefined) thread.threadName = name;
  if (metadata !== undefined) thread.metadataJson = metadata;
  if (newestRun !== undefined) thread.runId = newestRun;
  if (agent !== undefined) thread.agent = agent;
  const title = titleOf(row);
  if (title !== undefined) thread.title = title;
  return thread;
}

export function matchesThread(search: string, texts: StoredTexts): (row: ThreadRow) => boolean {
  const isFound = finding(search);
  return ({ threadId, name = '', title = '', metadata }) => {
    if (isFound(threadId) || isFound(name) || isFound(title)) return true;
    const isIn = (json: Uint8Array): boolean => valuesOf(fromJson(json)).some(isFound);
    return metadata !== undefined && texts.read({ threadId, column: 'thread.metadata' }, () => isIn(metadata)) === true;
  };
}

/** A message that cannot be read matches nothing. */
function matchesMessage(search: string, threadId: string, texts: StoredTexts): (entry: LogEntry) => boolean {
  const isFound = finding(search);
  return ({ json }) =>
    texts.read({ threadId, column: 'message.json' }, () => isFound(textOf(fromJson(json) as Message))) === true;
}

/** The values of a JSON document, however deep, as text; its keys are not among them. */
function valuesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(valuesOf);
  return [];
}
