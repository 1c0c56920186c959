import type { UndoRow } from '../ports/changes.ts';
import type { CheckpointRow, TraceRow } from '../ports/history.ts';
import type { OwnRunRow, RunRow, ThreadRow } from '../ports/lists.ts';
import type { Head, LogEntry, ThreadKey } from '../ports/record.ts';
import { nodesOf } from './run-place.ts';

// How many bytes the rows of each list take in a reply. Stores and the pages made of what they give count alike.

/** Keys, times and punctuation around a row's own values. */
const frameBytes = 512;

/** A text that is as long in JSON as it is, quotes aside. */
const plain = /^[-\w .:/]*$/;

const textBytes = (text: string | undefined): number => {
  if (text === undefined) return 0;
  return plain.test(text) ? text.length + 2 : Buffer.byteLength(JSON.stringify(text));
};

const listBytes = (texts: readonly string[]): number => Buffer.byteLength(JSON.stringify(texts));

/** What the id of a checkpoint adds to a message. */
const checkpointIdBytes = ',"checkpoint_id":"1234567890123456"'.length;

/** A message and the comma after it. */
export const messageBytes = ({ json, version }: Pick<LogEntry, 'json' | 'version'>): number =>
  json.byteLength + 1 + (version === undefined ? 0 : checkpointIdBytes);

export const keyBytes = ({ owner, threadId }: ThreadKey): number => frameBytes + textBytes(owner) + textBytes(threadId);

export const threadBytes = (row: ThreadRow): number =>
  frameBytes +
  textBytes(row.threadId) +
  textBytes(row.name) +
  titleBytes(row) +
  textBytes(row.newestRun) +
  textBytes(row.agent) +
  (row.metadata?.byteLength ?? 0);

/** What replies call the thread: its name, cut, or its title. */
const titleBytes = ({ name, title }: Pick<Head, 'name' | 'title'>): number =>
  name === undefined ? textBytes(title) : Math.min(textBytes(name), longestTitle);

/** Of 512 bytes, each of which may be escaped. */
const longestTitle = 1026;

export const ownRunBytes = (run: OwnRunRow): number =>
  runBytes(run) + titleBytes(run.head) + listBytes(nodesOf(run, run.head));

export const runBytes = ({ runId, threadId, requestId, resumes, resumedBy, end, usage, revision }: RunRow): number =>
  frameBytes +
  textBytes(runId) +
  textBytes(threadId) +
  textBytes(requestId) +
  textBytes(resumes) +
  textBytes(resumedBy) +
  textBytes(usage) +
  textBytes(revision) +
  (end ? Buffer.byteLength(JSON.stringify(end)) : 0);

export const checkpointBytes = ({ runId, nodes, next, metadata }: CheckpointRow): number =>
  frameBytes + textBytes(runId) + listBytes(nodes) + listBytes(next) + (metadata?.byteLength ?? 0);

export const undoBytes = ({ undo }: UndoRow): number => undo.byteLength;

export const traceBytes = ({ spansJson, contentJson }: Omit<TraceRow, 'version'>): number =>
  spansJson.byteLength + (contentJson?.byteLength ?? 0);
