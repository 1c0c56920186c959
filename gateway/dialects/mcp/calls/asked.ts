import { hash } from 'node:crypto';
import type { RunOrder } from '../../common/run-order.ts';
import { sortedKeys } from '../../common/sorted-keys.ts';
import { badRequest } from '@agent-workflow/kit/errors';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import { idFault } from '@agent-workflow/protos/message';
import { jsonBytes } from '../../../http/json.ts';
import type { Client } from '../wire/client.ts';
import { isObject, textIn, type Fields } from '../wire/fields.ts';
import type { OfferedTool } from '../offers/offered.ts';

export type AskedMethod = 'tools/call' | 'resources/read' | 'prompts/get';

/** What a client asks of an agent. */
export interface Asked {
  readonly method: AskedMethod;
  readonly agent: string;
  /** The name of the tool or prompt, or the address of the resource. */
  readonly name: string;
  /** Whether it is the agent itself: its node reads a message, and not a call. */
  readonly isAgent: boolean;
  readonly arguments: Fields;
  readonly mimeType?: string | undefined;
  /** Whether its tool promises structured content. */
  readonly isStructured?: boolean;
}

/** How often one node may run; as `/v1` has it. */
const recursionLimit = 25;

/** For how long a thread is kept that was made for a call, in seconds. */
const keptSeconds = 24 * 60 * 60;

/** The run that a client asks for. @throws BadRequest */
export function toOrder(asked: Asked, client: Client): RunOrder {
  const { agent, isAgent, arguments: given } = asked;
  const bytes = isAgent ? 0 : jsonBytes({ mcp: toCall(asked, client) }).length;
  if (bytes > sizes.config)
    throw badRequest(`arguments has ${bytesOver(bytes, sizes.config)}, with the name of the tool`);
  return {
    recursion_limit: recursionLimit,
    ...(isAgent
      ? agentOrder(agent, given)
      : {
          initial_state: {},
          context: { mcp: toCall(asked, client) },
          config: { agent, ttl: keptSeconds, ...(asked.method !== 'tools/call' && { on_completion: 'delete' }) },
        }),
  };
}

/** What the nodes of the agent read. */
const toCall = ({ method, name, arguments: given }: Asked, { can }: Client) => ({
  ...{ method, name, arguments: given },
  capabilities: [...can],
});

/** @throws BadRequest where an argument is not what its schema says. */
function agentOrder(agent: string, given: Fields): Omit<RunOrder, 'recursion_limit'> {
  const { message, thread_id: threadId, assistant_id: assistantId, state, ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw badRequest(`arguments.${unknown.slice(0, 128)} is none that the agent takes`);
  if (typeof message !== 'string' || message === '') throw badRequest('arguments.message must be a text');
  if (state !== undefined && !isObject(state)) throw badRequest('arguments.state must be an object');
  const known = { thread_id: idIn('thread_id', threadId), assistant_id: idIn('assistant_id', assistantId) };
  return {
    messages: [{ role: 'user', content: message }],
    ...(state && { initial_state: state }),
    config: {
      agent,
      ...(known.thread_id !== undefined && { thread_id: known.thread_id }),
      ...(known.assistant_id !== undefined && { assistant_id: known.assistant_id }),
    },
  };
}

function idIn(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const id = textIn(value);
  const fault = id === undefined ? 'must be a text' : idFault(id)?.msg;
  if (fault !== undefined) throw badRequest(`arguments.${name} ${fault}`);
  return id;
}

/** What a run keeps of the call that it is for: an answer comes with the same one. */
export const digestOf = ({ method, name, arguments: given }: Asked): string =>
  hash('sha256', JSON.stringify([method, name, sortedKeys(given)]), 'base64url');

/** What is asked by a call of a tool. */
export const askedOfTool = ({ agent, name, isAgent, shown }: OfferedTool, given: Fields): Asked => ({
  ...{ method: 'tools/call', agent, name, isAgent, arguments: given },
  ...(!isAgent && isObject(shown['outputSchema']) && { isStructured: true }),
});
