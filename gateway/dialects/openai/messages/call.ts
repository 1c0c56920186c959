import type { Block } from '@agent-workflow/protos/message';
import { invalidAt, type Loc } from '../../../http/fields.ts';
import { jsonInText } from '../../common/json-in-text.ts';
import { readCallId } from '../ids/call-id.ts';
import { isObject } from './content.ts';

/** The id by which the service knows a call. */
const ownCallId = (text: string): string => readCallId(text)?.callId ?? text;

interface GivenCall {
  readonly id: unknown;
  readonly name: unknown;
  readonly json: unknown;
  readonly at: Loc;
}

/** A call that an answer of the assistant held. @throws Invalid naming the field */
export function toCallBlock({ id, name, json, at }: GivenCall): Block {
  if (typeof id !== 'string' || id === '')
    throw invalidAt([...at, 'id'], 'must be a string that is not empty', 'string_type');
  if (typeof name !== 'string' || name === '')
    throw invalidAt([...at, 'name'], 'must be a string that is not empty', 'string_type');
  return { type: 'remote_tool_call', id: ownCallId(id), name, args: argsOf(json, at), tool_type: 'remote' };
}

function argsOf(json: unknown, at: Loc): unknown {
  if (json === '' || json === undefined) return {};
  const place = [...at, 'arguments'];
  const args = typeof json === 'string' ? jsonInText(json, place) : undefined;
  if (!isObject(args)) throw invalidAt(place, 'must be the JSON of an object');
  return args;
}

/** The result of a call as a block. */
export const toResultBlock = (id: string, output: string | readonly Block[]): Block => ({
  ...{ type: 'tool_result', call_id: ownCallId(id), output, status: 'completed', is_error: false },
});

/** The answer to a question: a result that is JSON is read as such. */
export function toAnswer(output: string): unknown {
  const value = jsonInText(output, ['body', 'messages']);
  return value === undefined ? output : value;
}
