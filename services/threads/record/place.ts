import type { Message } from '@agent-workflow/protos/message';
import { keepProviderData, mayHoldProviderData } from '@agent-workflow/protos/provider-data';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { Snapshot } from '../ports/changes.ts';
import type { LogEntry } from '../ports/record.ts';
import { fromJson, toJson } from './json.ts';

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

/**
 * Messages of a caller as they are kept. A caller has no provider data: what they have in common with the stored ones whose places they take keeps
 * it. Who has sent a message by a share of the thread is for the service to say, unless the run `isSent` by such a share.
 */
export const withKnownData = (
  entries: readonly MessageEntry[],
  known: ReadonlyMap<string, Pick<LogEntry, 'json'>>,
  isSent: () => boolean = () => false,
): readonly MessageEntry[] =>
  entries.map((entry) => {
    const stored = known.get(entry.messageId);
    const isHeld = stored !== undefined && mayHoldProviderData(stored.json);
    const mayName = (mayHoldSender(entry.json) && !isSent()) || (stored !== undefined && mayHoldSender(stored.json));
    if (!isHeld && !mayName) return entry;
    const before = stored && (fromJson(stored.json) as Message);
    const given = fromJson(entry.json) as Message;
    const named = mayName ? withSender(given, before) : given;
    return { ...entry, json: toJson(isHeld && before ? keepProviderData(named, before) : named) };
  });

const senderName = Buffer.from('"sender"');

const mayHoldSender = ({ buffer, byteOffset, byteLength }: Uint8Array): boolean =>
  Buffer.from(buffer, byteOffset, byteLength).includes(senderName);

/** The message with the sender that the service has noted, while it says what it said then; without one, none. */
function withSender(given: Message, before: Message | undefined): Message {
  const { sender: _, ...metadata } = given.metadata ?? {};
  const sender = before && isUnchanged(given, before) ? before.metadata?.['sender'] : undefined;
  const { metadata: _given, ...message } = given;
  const kept = { ...metadata, ...(sender !== undefined && { sender }) };
  return Object.keys(kept).length === 0 ? message : { ...message, metadata: kept };
}

const isUnchanged = (a: Message, b: Message): boolean =>
  a.role === b.role && JSON.stringify(a.content) === JSON.stringify(b.content);

/** Whether a message that had left the context comes back to it by being put again. */
export const rejoins = (
  messages: readonly { readonly messageId: string }[],
  known: ReadonlyMap<string, { readonly inContext: boolean }>,
): boolean => known.size > 0 && messages.some(({ messageId }) => known.get(messageId)?.inContext === false);

/** Places of the messages that leave the context: those that are part of it, or are put there by this very step. */
export function leaving(
  ids: readonly string[],
  messages: readonly LogEntry[],
  known: Snapshot['entries'],
): readonly number[] {
  if (ids.length === 0) return ids as readonly never[];
  const put = new Map(messages.map(({ messageId, position }) => [messageId, position]));
  return ids.flatMap((id) => put.get(id) ?? (known.get(id)?.inContext ? (known.get(id)?.position ?? []) : []));
}
