import { invalidAt, type Loc } from '../../../http/fields.ts';
import type { RunOrder } from '../../common/run-order.ts';
import { isObject, type Fields } from '../messages/content.ts';
import { unsupported } from '../replies/refusal.ts';

type Tool = NonNullable<RunOrder['tools']>[number];

/** The tools of a request that its caller runs, without those that it may not call. @throws Invalid naming what no agent can do */
export function toTools(tools: readonly Fields[], choice: unknown): readonly Tool[] {
  const declared = tools.map((tool, index) => toTool(tool, ['tools', index]));
  const names = namesOfChoice(choice);
  return names ? declared.filter(({ name }) => names.has(name)) : declared;
}

/** A tool as chat completions have it, in `function`, or as responses have it. */
function toTool(tool: Fields, at: Loc): Tool {
  const { type, function: inner } = tool;
  if (type !== 'function')
    throw unsupported([...at, 'type'], 'only functions are taken: the agent has tools of its own');
  const place = isObject(inner) ? [...at, 'function'] : at;
  const { name, description, parameters } = isObject(inner) ? inner : tool;
  if (typeof name !== 'string' || name === '') throw invalidAt(['body', ...place, 'name'], 'is required', 'missing');
  if (parameters !== undefined && parameters !== null && !isObject(parameters))
    throw invalidAt(['body', ...place, 'parameters'], 'must be object', 'object_type');
  return {
    name,
    ...(typeof description === 'string' && { description }),
    ...(isObject(parameters) && { parameters }),
  };
}

const at: Loc = ['tool_choice'];

/** The tools that may be called; `undefined`: all of them. Which tool is called the agent decides. */
function namesOfChoice(choice: unknown): ReadonlySet<string> | undefined {
  if (choice === undefined || choice === null || choice === 'auto') return undefined;
  if (choice === 'none') return new Set();
  if (!isObject(choice) || choice['type'] !== 'allowed_tools')
    throw unsupported(at, 'an agent is a graph, of which no call can be demanded: use auto, none or allowed_tools');
  const allowed = isObject(choice['allowed_tools']) ? choice['allowed_tools'] : choice;
  const { mode, tools } = allowed;
  if (mode !== undefined && mode !== 'auto')
    throw unsupported([...at, 'mode'], 'an agent is a graph, of which no call can be demanded: use auto');
  return new Set(Array.isArray(tools) ? tools.flatMap(nameOf) : []);
}

function nameOf(tool: unknown): string[] {
  if (!isObject(tool)) return [];
  const { name } = isObject(tool['function']) ? tool['function'] : tool;
  return typeof name === 'string' ? [name] : [];
}
