import type { ClaimedRun } from '@agent-workflow/protos/threads';
import type { Continuation, NodeResult } from '@agent-workflow/graph/run/continuation';
import type { Visits } from '@agent-workflow/protos/progress';
import { sizes } from '@agent-workflow/kit/sizes';
import { resultJson } from '@agent-workflow/graph/run/result-json';
import { pageBytes } from '@agent-workflow/kit/pages';
import type { Message } from '@agent-workflow/protos/message';
import { fromJson } from './json.ts';

/** What an earlier claim of the run left on record. */
interface EarlierProgress {
  readonly added: Added;
  /** How many times each node has run in this run. */
  readonly visits: ReadonlyMap<string, number>;
  /** Also what an interrupted run left for the run that resumes it. */
  readonly continuation: Continuation | undefined;
  /** What nodes of the first step had returned when the run failed that this one tries again. */
  readonly returned: Returned | undefined;
  /** Whether the initial state of the run is on record. */
  readonly merged: boolean;
  /** The bytes of content that the trace of the run has. */
  readonly traced: number;
}

/** What nodes of a step have returned that failed, by their names. */
export type Returned = Readonly<Record<string, NodeResult>>;

/** What each commit stores for the worker that claims the run next. The keys are stored: they do not change. */
interface StoredProgress {
  readonly visits: Visits;
  /** Whether the initial state of the run is on record before its first step. */
  readonly merged?: true;
  readonly carry?: Continuation;
  readonly returned?: Returned;
  readonly traced?: number;
}

/** Where a run stood when it failed. */
interface Failed {
  readonly next: readonly string[];
  readonly continuation: Continuation | undefined;
  readonly returned: ReadonlyMap<string, NodeResult> | undefined;
  /** Whether branches and calls of the step may have records. */
  readonly hasRecords: boolean;
  /** Whether the initial state of the run is on record. */
  readonly merged: boolean;
}

/** What a failed run leaves for one that tries it again: as much of what its nodes have returned as fits. `undefined`: it is too large without that. */
export function toFailedJson({ returned = new Map(), ...rest }: Failed): Uint8Array | undefined {
  const whole = JSON.stringify({ visits: {}, failed: { ...rest, returned: {} } });
  let left = sizes.progress - Buffer.byteLength(whole);
  if (left < 0) return undefined;
  const results: string[] = [];
  for (const [node, result] of returned) {
    const json = jsonOf(result, node);
    if (json === undefined) continue;
    const text = `${JSON.stringify(node)}:${json},`;
    const bytes = Buffer.byteLength(text);
    if (bytes > left) continue;
    left -= bytes;
    results.push(text);
  }
  return Buffer.from(`${whole.slice(0, -'}}}'.length)}${results.join('').slice(0, -1)}}}}`);
}

/** What JSON cannot hold is made again. */
function jsonOf(result: NodeResult, node: string): string | undefined {
  try {
    return resultJson({ ...result, streamed: [] } as NodeResult, node);
  } catch {
    return undefined;
  }
}

/** `traced` is how many bytes of content the trace of the run has. */
export const toProgressJson = (
  visits: ReadonlyMap<string, number>,
  continuation: Continuation | undefined,
  traced = 0,
): Uint8Array =>
  Buffer.from(
    JSON.stringify({ visits: Object.fromEntries(visits), carry: continuation, ...(traced > 0 && { traced }) }),
  );

/** Of a run whose initial state is on record, and no step. */
export const inputProgressJson = (continuation: Continuation | undefined): Uint8Array =>
  Buffer.from(JSON.stringify({ visits: {}, merged: true, carry: continuation }));

export function fromProgress(claimed: ClaimedRun): EarlierProgress {
  const { progressJson, isTakeover, step } = claimed;
  const stored: StoredProgress = progressJson ? (fromJson(progressJson) as StoredProgress) : { visits: {} };
  // Before its first commit a run finds the progress of the run before it, whose iterations do not count for this one.
  const visits = isTakeover && step > 0 ? stored.visits : {};
  return {
    added: addedBefore(claimed),
    visits: new Map(Object.entries(visits)),
    continuation: stored.carry,
    returned: stored.returned,
    merged: step > 0 || (isTakeover && stored.merged === true),
    traced: isTakeover && step > 0 ? (stored.traced ?? 0) : 0,
  };
}

/** The messages that a run has added, as far as its reply shows them. */
export interface Added {
  /** The newest messages, as many as a page holds, oldest first. */
  readonly messages: readonly Message[];
  /** Whether the run has added more messages before them. */
  readonly isPartial: boolean;
  /** The last message of the assistant, also when it is not among `messages`. */
  readonly reply: Message | undefined;
}

export const nothingAdded: Added = { messages: [], isPartial: false, reply: undefined };

/** The messages that an earlier claim of the run has added. */
function addedBefore({ outputJson, outputIsPartial = false, outputReplyJson }: ClaimedRun): Added {
  const messages = outputJson ? (fromJson(outputJson) as Message[]) : [];
  const reply = lastReply(messages) ?? (outputReplyJson ? (fromJson(outputReplyJson) as Message) : undefined);
  return { messages, isPartial: outputIsPartial, reply };
}

/** The newest of `messages`, which follow the messages of `before` or replace them. */
export function keepNewest(messages: readonly Message[], before: Added): Added {
  let left = pageBytes;
  const newest = messages.findLastIndex((message) => (left -= bytesOf(message)) < 0) + 1;
  return {
    messages: newest === 0 ? messages : messages.slice(newest),
    isPartial: before.isPartial || newest > 0,
    reply: lastReply(messages) ?? before.reply,
  };
}

const lastReply = (messages: readonly Message[]): Message | undefined =>
  messages.findLast(({ role }) => role === 'assistant');

/** Messages are immutable, so each is measured once. */
const measured = new WeakMap<Message, number>();

/** The bytes of a message as JSON, with the comma after it. */
function bytesOf(message: Message): number {
  const known = measured.get(message);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(JSON.stringify(message)) + 1;
  measured.set(message, bytes);
  return bytes;
}
