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
  /** Whether name and arguments stand in its `function`. */
  readonly inFunction?: boolean;
}

/** A call that an answer of the assistant held. @throws Invalid naming the field */
export function toCallBlock({ id, name, json, at, inFunction = false }: GivenCall): Block {
  const place = inFunction ? [...at, 'function'] : at;
  if (typeof id !== 'string' || id === '')
    throw invalidAt([...at, 'id'], 'must be a string that is not empty', 'string_type');
  if (typeof name !== 'string' || name === '')
    throw invalidAt([...place, 'name'], 'must be a string that is not empty', 'string_type');
  return {
    type: 'remote_tool_call',
    id: ownCallId(id),
    name,
    args: argsOf(json, [...place, 'arguments']),
    tool_type: 'remote',
  };
}

/** What a model has written is any text. One that is no JSON of an object stands in an object, as calls in a thread have one. */
function argsOf(json: unknown, at: Loc): unknown {
  if (json === '' || json === undefined) return {};
  if (typeof json !== 'string') throw invalidAt(at, 'must be a string', 'string_type');
  const args = jsonInText(json, at);
  return isObject(args) ? args : { invalid_arguments: json };
}

/** The arguments of a call as its caller reads them: what a model has written, where that is no JSON of an object. */
export const argumentsText = (args: unknown): string => (typeof args === 'string' ? args : JSON.stringify(args));

/** The result of a call as a block. */
export const toResultBlock = (id: string, output: string | readonly Block[]): Block => ({
  ...{ type: 'tool_result', call_id: ownCallId(id), output, status: 'completed', is_error: false },
});

/** The answer to a question: a result that is JSON is read as such. */
export function toAnswer(output: string): unknown {
  const value = jsonInText(output, ['body', 'messages']);
  return value === undefined ? output : value;
}
