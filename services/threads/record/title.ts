import { limitMarks } from '@agent-workflow/kit/fold-text';
import { textOf, type Message } from '@agent-workflow/protos/message';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import type { Head } from '../ports/record.ts';
import { fromJson } from './json.ts';

/** A title has at most so many characters as people count them, and so many bytes: one such character may have any number of code points. */
const maxCharacters = 120;
const maxBytes = 512;

/** How much of a text is read, in code units. */
const maxScanned = 4096;

const spaces = /[\p{Cc}\s]+/gu;
const ellipsis = '…';

/** A text on one line, cut to the length of a title between two characters; `undefined` where nothing can be seen of it. */
export function toTitle(text: string): string | undefined {
  const line = text.trimStart().slice(0, maxScanned).replace(spaces, ' ').trim().toWellFormed();
  return line.length <= maxCharacters ? line || undefined : cut(limitMarks(line));
}

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

function cut(line: string): string {
  const characters: string[] = [];
  let bytes = ellipsisBytes;
  // No more of the line is given than a title may have: what is one character of thousands of code points takes the square of them to find.
  for (const { segment } of segmenter.segment(line.slice(0, maxBytes))) {
    bytes += Buffer.byteLength(segment);
    if (characters.length === maxCharacters || bytes > maxBytes) break;
    characters.push(segment);
  }
  const whole = characters.join('');
  if (whole.length === line.length) return whole;
  return `${characters
    .slice(0, maxCharacters - 1)
    .join('')
    .toWellFormed()}${ellipsis}`;
}

const ellipsisBytes = Buffer.byteLength(ellipsis);

/** What a thread is called: by its name, else by its first message. */
export const titleOf = ({ name, title }: Pick<Head, 'name' | 'title'>): string | undefined =>
  (name === undefined ? undefined : toTitle(name)) ?? title;

/** The title that a user's messages give; a message that cannot be read gives none. */
function titleIn(messages: readonly Pick<MessageEntry, 'json'>[]): string | undefined {
  for (const { json } of messages) {
    const title = titleOfMessage(json);
    if (title !== undefined) return title;
  }
  return undefined;
}

function titleOfMessage(json: Uint8Array): string | undefined {
  try {
    const message = fromJson(json) as Message;
    return message.role === 'user' ? toTitle(textOf(message)) : undefined;
  } catch {
    return undefined;
  }
}

type Entries = ReadonlyMap<string, Pick<MessageEntry, 'json'>>;

/**
 * The head with a title: that of the first message of a user that the thread has accepted. A message that replaces this one gives its own.
 * @param entries the messages of the log that have ids of `messages`
 */
export function withTitle(head: Head, messages: readonly MessageEntry[], entries: Entries): Head {
  if (head.title === undefined) {
    const title = titleIn(messages);
    return title === undefined ? head : { ...head, title };
  }
  const replacing = messages.find(({ messageId }) => isTitle(head, entries.get(messageId)));
  if (!replacing) return head;
  const { title: _, ...untitled } = head;
  return withTitle(untitled, [replacing], entries);
}

/** The head without a title that this message gave: what is deleted is not shown. */
export function withoutTitleOf(head: Head, entry: Pick<MessageEntry, 'json'>): Head {
  if (!isTitle(head, entry)) return head;
  const { title: _, ...untitled } = head;
  return untitled;
}

/** Whether the title of a thread is that of this message. */
export const isTitle = ({ title }: Pick<Head, 'title'>, entry: Pick<MessageEntry, 'json'> | undefined): boolean =>
  title !== undefined && entry !== undefined && titleOfMessage(entry.json) === title;
