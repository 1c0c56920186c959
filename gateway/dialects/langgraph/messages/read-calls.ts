import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import type { Block } from '@agent-workflow/protos/message';
import type { LangChainPart } from './langchain-message.ts';
import { isObject, type Fields } from './parts.ts';

type Place = ErrorDetail['field'];

/** Kinds that providers give to the calls of a message, which stand in its `tool_calls` too. */
const callKinds: ReadonlySet<string> = new Set([
  'tool_call',
  'remote_tool_call',
  'tool_call_chunk',
  'tool_use',
  'input_json_delta',
  'function_call',
]);

export const isCallPart = ({ type }: LangChainPart): boolean => callKinds.has(type);

/**
 * The calls of a message: its `tool_calls`, in LangChain's form or in that of OpenAI, or those of its `additional_kwargs`.
 * @throws Invalid at the first field with a fault.
 */
export function callsIn({ tool_calls: own, additional_kwargs: kwargs }: Fields, at: Place): readonly Block[] {
  const beside = isObject(kwargs) ? kwargs['tool_calls'] : undefined;
  const isEmpty = own === undefined || own === null || (Array.isArray(own) && own.length === 0);
  const [calls, place] = isEmpty ? [beside ?? [], ['additional_kwargs', 'tool_calls']] : [own, ['tool_calls']];
  if (!Array.isArray(calls)) throw invalid([...at, ...place], 'must be an array', 'list_type');
  return calls.map((call: unknown, index) => toCall(call, [...at, ...place, index]));
}

function toCall(given: unknown, at: Place): Block {
  if (!isObject(given)) throw invalid(at, 'must be an object', 'object_type');
  const { function: called } = given;
  const isOpenAi = isObject(called);
  const { name, args, id } = isOpenAi ? { ...called, args: parsed(called['arguments'], at), id: given['id'] } : given;
  if (typeof name !== 'string' || name === '') throw invalid([...at, 'name'], 'is required', 'missing');
  if (typeof id !== 'string' || id === '') throw invalid([...at, 'id'], 'is required', 'missing');
  if (!isObject(args)) throw invalid([...at, 'args'], 'must be an object', 'object_type');
  return { type: 'tool_call', id, name, args, tool_type: 'function' };
}

function parsed(json: unknown, at: Place): unknown {
  if (json === undefined || json === '') return {};
  if (typeof json !== 'string') return json;
  try {
    return JSON.parse(json);
  } catch {
    throw invalid([...at, 'function', 'arguments'], 'must be JSON', 'json_invalid');
  }
}

/**
 * The blocks of a message's parts, each call at the place of its part; calls without a part follow. A part that is a whole call of the service
 * stands as it is.
 */
export function placed(
  parts: readonly LangChainPart[],
  calls: readonly Block[],
  toBlock: (part: LangChainPart) => Block | undefined,
): Block[] {
  const open = new Map(calls.map((call) => [call['id'] as string, call]));
  const blocks = parts.flatMap((part): readonly Block[] => {
    const block = toBlock(part);
    if (block) return [block];
    const call = open.get(String(part['id']));
    if (!call) return [];
    open.delete(String(part['id']));
    return [isOfService(part, call) ? part : call];
  });
  return [...blocks, ...open.values()];
}

/** Whether a part holds all of a call, as this service writes it. What the call says counts where they differ. */
const isOfService = (part: LangChainPart, call: Block): boolean =>
  (part.type === 'tool_call' || part.type === 'remote_tool_call') &&
  part['name'] === call['name'] &&
  JSON.stringify(part['args']) === JSON.stringify(call['args']);
