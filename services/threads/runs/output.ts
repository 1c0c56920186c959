import { pageBytes } from '@agent-workflow/kit/pages';
import { createYielder, type Yielder } from '@agent-workflow/kit/yielder';
import type { Message } from '@agent-workflow/protos/message';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import { fromJson, jsonArray } from '../record/json.ts';
import type { LogEntry, RunRecord, ThreadKey } from '../ports/record.ts';
import { messageBytes } from '../record/row-sizes.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ThreadLists } from '../ports/lists.ts';

type Output = Pick<ClaimedRun, 'outputJson' | 'outputIsPartial' | 'outputReplyJson'>;

/** Log positions in the first read, and in any read; the log is read from its end. */
const firstPositions = 4;
const mostPositions = 256;

/** The newest messages of those that the run's steps have added, as many as a page holds, in order. */
export async function newestOutput(
  store: ThreadReads & ThreadLists,
  key: ThreadKey,
  run: Pick<RunRecord, 'outputFrom' | 'outputTo'>,
  signal: AbortSignal,
): Promise<Output> {
  const from = run.outputFrom;
  const to = run.outputTo ?? (await store.getHead(key))?.nextPosition ?? 0;
  if (from === undefined) return { outputJson: jsonArray([]) };
  const yielder = createYielder({ signal });
  const newest: Uint8Array[] = [];
  let left = pageBytes;
  let hasReply = false;
  for await (const entry of backwards(store, key, { from, to })) {
    if (yielder.isDue()) await yielder.yield();
    if (left < messageBytes(entry)) {
      const reply = hasReply ? undefined : await lastReply(store, key, { from, to: entry.position + 1 }, yielder);
      return { ...outputOf(newest), outputIsPartial: true, ...(reply && { outputReplyJson: reply }) };
    }
    left -= messageBytes(entry);
    newest.push(entry.json);
    hasReply ||= isReply(entry);
  }
  return outputOf(newest);
}

const outputOf = (newest: readonly Uint8Array[]): Output => ({ outputJson: jsonArray(newest.toReversed()) });

const isReply = ({ json }: LogEntry): boolean => (fromJson(json) as Message).role === 'assistant';

interface Range {
  readonly from: number;
  /** Behind the last. */
  readonly to: number;
}

async function lastReply(
  store: ThreadLists,
  key: ThreadKey,
  range: Range,
  yielder: Yielder,
): Promise<Uint8Array | undefined> {
  for await (const entry of backwards(store, key, range)) {
    if (yielder.isDue()) await yielder.yield();
    if (isReply(entry)) return entry.json;
  }
  return undefined;
}

/** The messages of a part of the log, the newest first; large messages are read few at a time. */
async function* backwards(store: ThreadLists, key: ThreadKey, { from, to }: Range): AsyncGenerator<LogEntry> {
  let count = firstPositions;
  for (let below = to; below > from;) {
    const first = Math.max(from, below - count);
    const entries = await store.listMessages(key, { limit: count, after: first - 1, below });
    yield* entries.toReversed();
    below = first;
    const bytes = entries.reduce((sum, entry) => sum + messageBytes(entry), 0);
    count = bytes * 4 > pageBytes ? firstPositions : Math.min(count * 2, mostPositions);
  }
}
