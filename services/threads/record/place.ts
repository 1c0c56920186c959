import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { LogEntry } from '../ports/port.ts';

/**
 * Gives each message its place: the one it has when its id is in the log, else the next free one. Of two entries with
 * one id the later wins, at the place of the first.
 */
export function placeMessages(
  entries: readonly MessageEntry[],
  nextPosition: number,
  known: ReadonlyMap<string, { readonly position: number }>,
): { readonly messages: readonly LogEntry[]; readonly nextPosition: number } {
  const placed = new Map<string, LogEntry>();
  let next = nextPosition;
  for (const { messageId, json } of entries) {
    const position = placed.get(messageId)?.position ?? known.get(messageId)?.position ?? next++;
    placed.set(messageId, { position, messageId, json });
  }
  return { messages: [...placed.values()], nextPosition: next };
}

/** Whether a message that had left the context comes back to it by being put again. */
export const rejoins = (
  messages: readonly { readonly messageId: string }[],
  known: ReadonlyMap<string, { readonly inContext: boolean }>,
): boolean => known.size > 0 && messages.some(({ messageId }) => known.get(messageId)?.inContext === false);
