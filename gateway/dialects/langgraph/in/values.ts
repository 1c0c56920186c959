import { invalidAt, type Loc } from '../../../http/fields.ts';
import type { NewMessage } from '../../common/run-order.ts';
import { fromLangChain } from '../messages/from-langchain.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Values of a state as the service takes them. */
interface Values {
  readonly messages: readonly NewMessage[];
  readonly fields: JsonObject;
}

/** The input of a run, or an update of a state, which may remove messages: all that are there stand under the id that their clients know. */
export interface Update extends Values {
  readonly removed: readonly string[];
}

/**
 * `messages`, one or a list of them, and fields of the state. What is removed behind a message of the same list is not added.
 * @throws Invalid for what is no object, and for a message that is malformed
 */
export function fromUpdate(given: unknown, loc: Loc): Update {
  if (!isObject(given)) throw invalidAt(loc, 'must be an object', 'object_type');
  const { messages = [], ...fields } = given;
  const list: readonly unknown[] = Array.isArray(messages) && !isPair(messages) ? messages : [messages];
  let added: NewMessage[] = [];
  const removed = new Set<string>();
  for (const [index, message] of list.entries()) {
    const at = [...loc, 'messages', index];
    const read = fromLangChain(message, at);
    if ('message' in read) {
      added.push(read.message);
      continue;
    }
    const isAll = read.removed === everyMessage;
    const kept = isAll ? [] : added.filter(({ message_id: id }) => id !== read.removed);
    if (isAll || kept.length === added.length) removed.add(read.removed);
    added = kept;
  }
  return { messages: added, fields, removed: [...removed] };
}

/** In place of the id of a message: every one that is there. */
export const everyMessage = '__remove_all__';

/** A role and a content are one message. */
const isPair = (list: readonly unknown[]): boolean =>
  list.length === 2 && list.every((item) => typeof item === 'string');

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
