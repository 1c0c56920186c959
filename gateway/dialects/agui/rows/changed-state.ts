import { isDeepStrictEqual } from 'node:util';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Message } from '@agent-workflow/protos/message';
import type { Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonText } from '../../../http/json.ts';
import { graphFacts } from '../../common/graph-facts.ts';
import type { Services } from '../../common/services.ts';
import { stateOf } from './beginning.ts';
import { textIn, wholeOf } from '../messages/to-agui.ts';
import type { RunAgentInput } from '../schemas/run-input.ts';

/**
 * The fields that the page has changed: what the thread has already is not sent to the reducers of the graph again. Fields that callers only read are left
 * out: the page sends the whole state, as it saw that.
 * @throws Invalid
 */
export async function changedState(
  { owner, call, input, params }: EndpointRequest<{ readonly agent: string }, RunAgentInput>,
  isNew: boolean,
  { threads, execution }: Pick<Services, 'threads' | 'execution'>,
): Promise<Readonly<Record<string, unknown>>> {
  const { threadId, state } = input;
  if (state === undefined || state === null) return {};
  if (typeof state !== 'object' || Array.isArray(state))
    throw invalidAt(['body', 'state'], 'must be an object: the fields of the graph');
  const all = Object.entries(state);
  if (all.length === 0) return {};
  const { readOnly } = await graphFacts(execution, { agent: params.agent }, call());
  const given = all.filter(([name]) => !readOnly.has(name));
  const stored = isNew ? undefined : await undefinedIfNotFound(threads.getState({ owner, threadId }, call()));
  const { fields } = stored ? await stateOf(stored, execution, call()) : { fields: {} as Record<string, unknown> };
  return Object.fromEntries(
    given.filter(([name, value]) => !Object.hasOwn(fields, name) || !isDeepStrictEqual(fields[name], value)),
  );
}

interface Seen {
  readonly thread: Thread;
  /** Whether the page has any message of it. */
  readonly knowsThread: boolean;
}

/** So many of the newest messages are read for the last one that an agent has said. */
const newest = 10;

/**
 * Whether the page has not seen the end of the last run: one is under way, or the last text of the agent is not, or not whole, in a page that has other
 * messages of the thread. What it sends as its `state` is then as old.
 */
export async function isBehind(
  { owner, call, input }: EndpointRequest<unknown, RunAgentInput>,
  { thread: { threadId, activeRunId }, knowsThread }: Seen,
  { threads }: Pick<Services, 'threads'>,
): Promise<boolean> {
  if (activeRunId !== undefined) return true;
  if (!knowsThread) return false;
  const { messagesJson } = await threads.listMessages(
    { owner, threadId, limit: newest, offset: 0, newestFirst: true },
    call(),
  );
  const messages = JSON.parse(jsonText(messagesJson)) as readonly Message[];
  const last = messages.find(({ role, content }) => role === 'assistant' && textIn(content) !== '');
  if (!last) return false;
  const shown = input.messages.find(({ id }) => (wholeOf(id) ?? id) === last.message_id);
  if (!shown) return true;
  return typeof shown.content === 'string' && textIn(last.content).length > shown.content.length;
}
