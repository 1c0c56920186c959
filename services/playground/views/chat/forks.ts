/** A version of a thread, as the list of checkpoints gives it: the newest first. */
export interface Checkpoint {
  readonly checkpoint_id: string;
  readonly created_at: string;
}

/** Where a fork begins: at a checkpoint, or with nothing, as the thread itself began. */
export type ForkPoint = { readonly checkpointId: string } | 'start';

/** A message that may be forked from, and its place in the log. */
export interface ForkedMessage {
  readonly id: string;
  readonly timestamp: string;
  readonly checkpointId?: string | undefined;
  /** Whether it is the first message of the thread. */
  readonly isFirst: boolean;
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
 * Where to fork so that the new thread ends `with` a message, or just `before` it. `undefined` when the service no longer keeps that
 * version.
 */
export async function forkPointOf(
  message: ForkedMessage,
  place: 'with' | 'before',
  reads: CheckpointReads,
): Promise<ForkPoint | undefined> {
  if (place === 'with' && message.checkpointId !== undefined) return { checkpointId: message.checkpointId };
  if (place === 'before' && message.isFirst) return 'start';
  const kept = await reads.list();
  const index = await indexOf(message, kept, reads);
  const found = index === undefined ? undefined : kept[place === 'with' ? index : index + 1];
  return found && { checkpointId: found.checkpoint_id };
}

/** The checkpoint that a message came with: the one it names, or the first that holds it, from about when it was written. */
async function indexOf(
  { id, timestamp, checkpointId }: ForkedMessage,
  kept: readonly Checkpoint[],
  { holds }: CheckpointReads,
): Promise<number | undefined> {
  if (checkpointId !== undefined) {
    const named = kept.findIndex(({ checkpoint_id: known }) => known === checkpointId);
    return named === -1 ? undefined : named;
  }
  const written = Date.parse(timestamp);
  const first = kept.findLastIndex(({ created_at: at }) => Date.parse(at) >= written);
  for (let index = first; index >= 0 && index > first - maxReads; index--) {
    const candidate = kept[index];
    if (candidate && (await holds(candidate.checkpoint_id, id))) return isFirstWith(index) ? index : undefined;
  }
  return undefined;

  /** The oldest that is kept may be later than the one that the message came with. */
  function isFirstWith(index: number): boolean {
    return index < first || index < kept.length - 1;
  }
}
