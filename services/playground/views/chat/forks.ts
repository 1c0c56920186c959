/** A version of a thread, as the list of checkpoints gives it: the newest first. */
export interface Checkpoint {
  readonly checkpoint_id: string;
  readonly created_at: string;
  /** The run that made it, if one did. */
  readonly run_id?: string | null;
  readonly source?: string;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

/** A message of the log, as far as forks care. */
interface ForkedMessage {
  readonly id: string;
  readonly timestamp: string;
  /** The checkpoint that a fork begins at which ends after this message; messages that a fork has copied do not name it. */
  readonly checkpointId?: string | undefined;
}

export interface CheckpointReads {
  /** All checkpoints that are kept, the newest first. */
  readonly list: () => Promise<readonly Checkpoint[]>;
  /** Whether the thread had the message at this checkpoint. */
  readonly holds: (checkpointId: string, messageId: string) => Promise<boolean>;
}

/** How many checkpoints are read at most to find the one of a message that does not name it. */
const maxReads = 6;

/**
 * The checkpoint at which a fork ends after a message, and before the message `next`. `undefined` when the service no longer keeps that
 * version.
 */
export async function checkpointOf(
  { id, timestamp, checkpointId }: ForkedMessage,
  next: ForkedMessage | undefined,
  { list, holds }: CheckpointReads,
): Promise<string | undefined> {
  if (checkpointId !== undefined) return checkpointId;
  const kept = await list();
  const written = Date.parse(timestamp);
  // A fork holds what was written before it was made: its messages are older than all that it keeps.
  const first = kept.findLastIndex(({ created_at: at }) => Date.parse(at) >= written);
  for (let index = first; index >= 0 && index > first - maxReads; index--) {
    const candidate = kept[index]?.checkpoint_id ?? '';
    if (!(await holds(candidate, id))) continue;
    // The oldest that is kept may be later than the one that the message came with.
    const isOldest = index === kept.length - 1;
    return isOldest && next && (await holds(candidate, next.id)) ? undefined : candidate;
  }
  return undefined;
}

/** The message after which a fork ends that leaves out another: the last one before it that did not come with it. */
export function messageBefore<Message extends ForkedMessage>(
  messages: readonly Message[],
  message: Message,
): Message | undefined {
  const index = messages.indexOf(message);
  return messages
    .slice(0, index)
    .findLast(({ checkpointId }) => checkpointId === undefined || checkpointId !== message.checkpointId);
}

/** The run that made a version of the thread; `undefined` where none did, and where that version is no longer kept. */
export const runAt = (checkpointId: string | undefined, kept: readonly Checkpoint[]): string | undefined =>
  kept.find((each) => each.checkpoint_id === checkpointId)?.run_id ?? undefined;

/** The thread that a fork was made from, by its first version; `undefined` of any other thread, and where that version is no longer kept. */
export function originOf(kept: readonly Checkpoint[]): string | undefined {
  const first = kept.at(-1);
  const origin = first?.source === 'fork' ? first.metadata?.['forked_from'] : undefined;
  const id: unknown =
    typeof origin === 'object' && origin !== null && 'thread_id' in origin ? origin.thread_id : undefined;
  return typeof id === 'string' ? id : undefined;
}
