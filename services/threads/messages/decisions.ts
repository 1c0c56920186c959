import { setImmediate as nextTurn } from 'node:timers/promises';
import { answeredCalls, callsOf, type Message } from '@agent-workflow/protos/message';
import { heldMessages } from '@agent-workflow/protos/progress';
import { fromJson } from '../record/json.ts';
import type { Decision, Snapshot } from '../ports/changes.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import { directWrite, settledHead, versionConflict, writableHead, answersIn, withoutCalls } from '../state/write.ts';
import { withCheckpoint, refuseLargeChange } from '../history/undo.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { StoredTexts } from '../record/stored-texts.ts';
import type { AddMessagesReply, AddMessagesRequest } from '@agent-workflow/protos/threads';
import { refuseDropping, refuseRewriting } from '../record/addressed.ts';
import { refuseMessages, refuseMetadata } from '../record/bounds.ts';
import { placeMessages, withKnownData } from '../record/place.ts';
import { refuseGrowth, type SizePlaces } from '../record/size.ts';
import { withoutTitleOf, withTitle } from '../record/title.ts';
import { notFound } from '@agent-workflow/kit/errors';

/** What is wrong with a context: messages with a call that has no answer, and answers to the other calls of those messages. */
interface Broken {
  readonly callers: readonly string[];
  readonly answers: readonly string[];
  /** The version of the thread in which they were found. */
  readonly version: number;
}

interface Searched {
  readonly store: ThreadReads;
  readonly texts: Pick<StoredTexts, 'read'>;
}

/** Finds what a model refuses in a conversation: calls without an answer. A message that cannot be read counts as no answer, because no model gets it. */
export async function findBroken(
  searched: Searched,
  key: ThreadKey,
  { version }: Pick<Head, 'version'>,
): Promise<Broken> {
  const messages = await readLinks(searched, key);
  const answered = new Set(messages.flatMap(({ answers }) => answers));
  const callers = messages.filter(({ calls }) => calls.some((id) => !answered.has(id)));
  const lost = new Set(callers.flatMap(({ calls }) => calls));
  const answers = messages.filter((message) => message.answers.some((id) => lost.has(id)));
  return { callers: callers.map(({ id }) => id), answers: answers.map(({ id }) => id), version };
}

/** Which calls a message makes as an assistant's, and which it answers. */
interface Links {
  readonly id: string;
  readonly calls: readonly string[];
  readonly answers: readonly string[];
}

/** Bytes of a context that are parsed before other work of the process continues. */
const parsedAtOnce = 2 * 1024 * 1024;

/** The messages of the context that make calls or answer some, in order of the log. */
async function readLinks({ store, texts }: Searched, key: ThreadKey): Promise<readonly Links[]> {
  const unreadable = { threadId: key.threadId, column: 'message.json' };
  let links: readonly Links[] = [];
  for (let below: number | undefined; below !== 0;) {
    const { entries, bottom } = await store.listContext(key, {
      maxBytes: parsedAtOnce,
      ...(below === undefined ? {} : { below }),
    });
    const found = entries.flatMap(({ json }) => texts.read(unreadable, () => toLinks(fromJson(json) as Message)) ?? []);
    links = [...found.filter(hasLinks), ...links];
    below = bottom;
    await nextTurn();
  }
  return links;
}

const toLinks = (message: Message): Links => ({
  id: message.message_id,
  calls: message.role === 'assistant' ? callsOf(message) : [],
  answers: answeredCalls(message),
});

const hasLinks = ({ calls, answers }: Links): boolean => calls.length + answers.length > 0;

/**
 * Removes what is broken; the thread waits for no answer any more.
 * @throws Conflict when the thread has changed since the search: a call may have been answered.
 */
export function decideFix(
  key: ThreadKey,
  { callers, answers, version }: Broken,
  snapshot: Snapshot,
  now: number,
): Decision<number> {
  const before = writableHead(snapshot, key.threadId);
  const deleted = [...callers, ...answers].flatMap((id) => snapshot.entries.get(id)?.position ?? []);
  if (deleted.length === 0) return { reply: 0 };
  if (before.version !== version) throw versionConflict(key.threadId);
  refuseDropping(key, before);
  const { progress } = before;
  // What a step held is no part of what was wrong.
  const held = heldMessages(progress) && progress ? { progress } : {};
  const fixed = { head: { ...settledHead(before, now), ...held }, deleted };
  return {
    change: withCheckpoint(fixed, before, snapshot, { ...directWrite, at: now }),
    reply: callers.filter((id) => snapshot.entries.has(id)).length,
  };
}

/** Where the messages are in the request. */
const inRequest: SizePlaces = { messages: ['messages'], fields: ['messages'] };

/** Appends messages to log and context; one whose id is in the log replaces it in place. */
export function decideAddMessages(
  request: AddMessagesRequest,
  snapshot: Snapshot,
  now: number,
): Decision<AddMessagesReply> {
  const head = writableHead(snapshot, request.threadId);
  refuseRewriting(request, head);
  const { metadataJson: metadata } = request;
  refuseMessages(request.messages, inRequest.messages);
  refuseMetadata(metadata, ['metadata']);
  const given = withKnownData(request.messages, snapshot.entries);
  const { messages, nextPosition } = placeMessages(given, head.nextPosition, snapshot.entries);
  const version = head.version + 1;
  const titled = withTitle(head, request.messages, snapshot.entries);
  const written = { ...withoutCalls(titled, answersIn(request.messages)), version, updatedAt: now, nextPosition };
  const change = withCheckpoint({ head: written, messages }, head, snapshot, {
    ...directWrite,
    at: now,
    ...(metadata === undefined ? {} : { metadata }),
  });
  refuseGrowth(head.size, change.head.size, inRequest);
  refuseLargeChange(change, request, inRequest.messages);
  return { change, reply: { version } };
}

/** Removes a message from log and context. The open calls that it makes are removed from the head. */
export function decideDeleteMessage(
  { messageId, ...key }: ThreadKey & { readonly messageId: string },
  snapshot: Snapshot,
  now: number,
): Decision<undefined> {
  const { threadId } = key;
  const head = writableHead(snapshot, threadId);
  refuseRewriting(key, head);
  const entry = snapshot.entries.get(messageId);
  if (!entry) throw notFound(`message "${messageId}" does not exist in thread "${threadId}"`);
  const left = withoutCalls(withoutTitleOf(head, entry), callsIn(entry.json));
  const change = {
    head: { ...left, version: head.version + 1, updatedAt: now },
    deleted: [entry.position],
  };
  return { change: withCheckpoint(change, head, snapshot, { ...directWrite, at: now }), reply: undefined };
}

/** The ids of the calls that a message makes. One that cannot be read makes none that is known, and is removed as well. */
function callsIn(json: Uint8Array): readonly string[] {
  try {
    return callsOf(fromJson(json) as Message);
  } catch {
    return [];
  }
}
