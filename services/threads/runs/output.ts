import { pageBytes } from '@agent-workflow/kit/pages';
import { createTurns, type Turns } from '@agent-workflow/kit/turns';
import type { Message } from '@agent-workflow/protos/message';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import { fromJson, jsonArray } from '../record/json.ts';
import type { LogEntry, RunRecord, ThreadKey, ThreadStore } from '../ports/port.ts';
import { messageBytes } from '../record/row-sizes.ts';

type Output = Pick<ClaimedRun, 'outputJson' | 'outputIsPartial' | 'outputReplyJson'>;

/** Positions of the log that are read at once, at first and at most; the log is read from its end. */
const firstPositions = 4;
const mostPositions = 256;

/** The newest messages of those that the run's steps have added, as many as a page holds, in order. */
export async function newestOutput(
  store: ThreadStore,
  key: ThreadKey,
  run: Pick<RunRecord, 'outputFrom' | 'outputTo'>,
  signal: AbortSignal,
): Promise<Output> {
  const from = run.outputFrom;
  const to = run.outputTo ?? (await store.getHead(key))?.nextPosition ?? 0;
  if (from === undefined) return { outputJson: jsonArray([]) };
  const turns = createTurns({ signal });
  const newest: Uint8Array[] = [];
  let left = pageBytes;
  let hasReply = false;
  for await (const entry of backwards(store, key, { from, to })) {
    if (turns.isOver()) await turns.pass();
    if (left < messageBytes(entry)) {
      const reply = hasReply ? undefined : await lastReply(store, key, { from, to: entry.position + 1 }, turns);
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
  store: ThreadStore,
  key: ThreadKey,
  range: Range,
  turns: Turns,
): Promise<Uint8Array | undefined> {
  for await (const entry of backwards(store, key, range)) {
    if (turns.isOver()) await turns.pass();
    if (isReply(entry)) return entry.json;
  }
  return undefined;
}

/** The messages of a part of the log, the newest first: few at once while they are large. */
async function* backwards(store: ThreadStore, key: ThreadKey, { from, to }: Range): AsyncGenerator<LogEntry> {
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
