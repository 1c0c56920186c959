import { invalidAt, type Loc } from '../../../http/fields.ts';
import type { NewMessage } from '../../common/run-order.ts';
import { fromLangChain } from '../messages/from-langchain.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Values of a state as the service takes them. */
export interface Values {
  readonly messages: readonly NewMessage[];
  readonly fields: JsonObject;
}

/**
 * The input of a run, or the values of an update: `messages`, one or a list of them, and fields of the state.
 * @throws Invalid for what is no object, and for a message that is malformed or is to be removed
 */
export function fromValues(given: unknown, loc: Loc): Values {
  if (!isObject(given)) throw invalidAt(loc, 'must be an object', 'object_type');
  const { messages = [], ...fields } = given;
  const list: readonly unknown[] = Array.isArray(messages) && !isPair(messages) ? messages : [messages];
  return { messages: list.map((message, index) => toMessage(message, [...loc, 'messages', index])), fields };
}

function toMessage(given: unknown, loc: Loc): NewMessage {
  const read = fromLangChain(given, loc);
  if ('removed' in read) throw invalidAt(loc, 'cannot be removed: a message of a thread is deleted by itself');
  return read.message;
}

/** A role and a content are one message. */
const isPair = (list: readonly unknown[]): boolean =>
  list.length === 2 && list.every((item) => typeof item === 'string');

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
