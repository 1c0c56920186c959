import type { Change, Snapshot } from '@agent-workflow/threads/ports/changes';
import type { StoredState } from '@agent-workflow/threads/ports/reads';
import type { Checkpoint, Head, LogEntry, RunRecord, ThreadKey } from '@agent-workflow/threads/ports/record';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';

export const owner = 'u:ada';
export const key: ThreadKey = { owner, threadId: 't1' };

export const bytes = (value: string): Uint8Array => new Uint8Array(Buffer.from(value));
export const text = (json: Uint8Array | undefined): string | undefined => json && Buffer.from(json).toString();

export const newHead: Head = {
  createdAt: 1,
  updatedAt: 1,
  version: 1,
  epoch: 0,
  step: 0,
  queue: [],
  nextPosition: 0,
  openCalls: [],
  next: [],
  openInterrupts: [],
  // More than any test writes: a store that trusts it reads all, and page by page.
  size: { fields: 2 ** 40, context: 2 ** 40 },
  claims: 0,
  deleting: false,
};

export const fullHead: Head = {
  ...newHead,
  name: 'Tea',
  title: 'Which tea?',
  runCount: 3,
  metadata: bytes('{"k":1}'),
  updatedAt: 1_790_000_000_123,
  version: 1_790_000_000_123_004,
  epoch: 3,
  step: 2,
  activeRun: 'r2',
  activeStatus: 'running',
  worker: 'w1',
  foundVersion: 1_790_000_000_123_001,
  newestRun: 'r4',
  queue: ['r3', 'r4'],
  nextPosition: 17,
  openCalls: [{ callId: 'c1', name: 'look' }],
  next: ['tools'],
  interruptedRun: 'r1',
  openInterrupts: ['q1'],
  claims: 2,
  progress: bytes('{"p":1}'),
  size: { fields: 7, context: 1234 },
  revision: 'r-2',
  lastRevision: 'r-1',
};

export const checkpoint = (at: number, undo = `undo ${String(at)}`): Checkpoint => ({
  source: 'step',
  nodes: [],
  next: [],
  at,
  undo: bytes(undo),
});

export const entry = (position: number): LogEntry => ({
  position,
  messageId: `m${String(position)}`,
  json: bytes(`{"n":${String(position)}}`),
});

export const run = (runId: string, parts: Partial<RunRecord> = {}): RunRecord => ({
  runId,
  threadId: 't1',
  requestId: 'q',
  status: 'queued',
  granularity: 'low',
  isNewThread: false,
  createdAt: 1,
  updatedAt: 1,
  options: bytes('{}'),
  answers: [],
  hasNewInput: true,
  ...parts,
});

export const put = async (store: ThreadStore, change: Change, at: ThreadKey = key): Promise<void> =>
  store.change(at, {}, () => ({ change, reply: undefined }));

export const snapshotOf = async (
  store: ThreadStore,
  reads: Parameters<ThreadStore['change']>[1] = {},
): Promise<Snapshot> => store.change(key, reads, (snapshot) => ({ reply: snapshot }));

export const mark = async (store: ThreadStore, at: ThreadKey = key): Promise<void> =>
  store.change(at, {}, ({ head }) => ({
    change: { head: { ...(head ?? newHead), deleting: true } },
    reply: undefined,
  }));

export const textsOf = ({ fields, context }: StoredState): { fields: Record<string, string>; context: string[] } => ({
  fields: Object.fromEntries(Object.entries(fields).map(([name, json]) => [name, text(json) ?? ''])),
  context: context.map((json) => text(json) ?? ''),
});

export const positionsOf = (entries: readonly LogEntry[]): number[] => entries.map(({ position }) => position);
