import { idFault } from '@agent-workflow/protos/message';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const hex = /^[0-9a-f]{32}$/;

/** What an id is shown for: a response is a run, a conversation a thread, and a message an item. */
type IdKind = 'resp' | 'conv' | 'msg';

/** A UUID without its dashes. */
export const hexOf = (id: string): string => id.replaceAll('-', '');

/** The same with its dashes; `undefined` for what is none. */
export function fromHex(text: string): string | undefined {
  if (!hex.test(text)) return undefined;
  return [0, 8, 12, 16, 20].map((start, index, all) => text.slice(start, all[index + 1] ?? 32)).join('-');
}

/** An id in OpenAI's form. One that is no UUID stands behind `=`. */
export const shownId = (kind: IdKind, id: string): string => `${kind}_${uuid.test(id) ? hexOf(id) : `=${id}`}`;

/** The id behind a shown one of this kind; `undefined` for any other text. */
export function readId(kind: IdKind, text: string): string | undefined {
  if (!text.startsWith(`${kind}_`)) return undefined;
  const rest = text.slice(kind.length + 1);
  if (!rest.startsWith('=')) return fromHex(rest);
  const id = rest.slice(1);
  return idFault(id) ? undefined : id;
}

/** The id of a call or a result: that of its message, with its number there. */
const numbered = /^(.+)\.(\d{1,5})$/;

/** The id in a path, whatever it is of; `undefined` for what is none. Of a call or a result it is the id of its message, a dot and its number. */
export function readAnyId(text: string): string | undefined {
  const known = readId('resp', text) ?? readId('conv', text) ?? readId('msg', text);
  if (known !== undefined) return known;
  const [, message = '', number = ''] = numbered.exec(text) ?? [];
  const messageId = readId('msg', message);
  return messageId === undefined ? undefined : `${messageId}.${number}`;
}

/** An item, by what {@link readAnyId} gives. */
interface ItemPlace {
  readonly messageId: string;
  /** As callers know it. */
  readonly shown: string;
}

/** The items that an id may be of: ids of messages may end as those of their calls do. */
export function itemPlaces(id: string): readonly ItemPlace[] {
  const [, messageId, number = ''] = numbered.exec(id) ?? [];
  return [
    { messageId: id, shown: shownId('msg', id) },
    ...(messageId === undefined ? [] : [{ messageId, shown: `${shownId('msg', messageId)}.${number}` }]),
  ];
}
