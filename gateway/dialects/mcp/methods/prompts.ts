import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { assistantOf, getAssistant, listAssistants } from '../../../assistants/index.ts';
import type { Services } from '../../common/services.ts';
import { findOffer, offersOf } from '../offers/offers.ts';
import { fieldsOf, textIn, type Fields } from '../wire/fields.ts';
import { cached } from '../wire/reply.ts';
import { invalidParams } from '../wire/rpc-error.ts';
import { runCall } from './calls.ts';
import { authorize, isAllowed, readableAgents, type McpRequest, type Method } from './method.ts';

const readingAssistants = { resource: 'assistants', action: 'read' } as const;

/** Assistants of one page (a count). */
const pageAssistants = 100;

/** Stands before the cursor of a page of assistants. */
const ofAssistants = 'assistants:';

/** What agents offer, and behind it the assistants of the caller. */
export const listPrompts: Method = async ({ request, client, params }, services) => {
  const { cursor } = params;
  if (cursor !== undefined && !(typeof cursor === 'string' && cursor.startsWith(ofAssistants)))
    throw invalidParams('cursor is none that a list gave');
  const offered = cursor === undefined ? [...(await offersOf(services.execution, request.call)).prompts.values()] : [];
  const agents = await readableAgents(
    request,
    offered.map(({ agent }) => agent),
    services,
  );
  const page = await assistants(
    request,
    cursor === undefined ? undefined : cursor.slice(ofAssistants.length),
    services,
  );
  const prompts = [...offered.filter(({ agent }) => agents.has(agent)).map(({ shown }) => shown), ...page.prompts];
  return cached({ prompts, ...(page.cursor !== undefined && { nextCursor: `${ofAssistants}${page.cursor}` }) }, client);
};

type Request = McpRequest['request'];

async function assistants(
  request: Request,
  cursor: string | undefined,
  services: Services,
): Promise<{ readonly prompts: readonly Fields[]; readonly cursor?: string }> {
  const { owner, call } = request;
  if (!(await isAllowed(request, readingAssistants, services))) return { prompts: [] };
  const page = { owner, limit: pageAssistants, ...(cursor !== undefined && { cursor }) };
  const { rows, ...more } = await listAssistants(services.threads, page, call);
  const prompts = rows.flatMap((row) => {
    const assistant = assistantOf(row);
    if (!assistant) return [];
    const { id, name, description } = assistant;
    return [
      {
        ...{ name: id, ...(name !== undefined && { title: name }), ...(description !== undefined && { description }) },
        arguments: [{ name: 'message', description: 'What the assistant is asked', required: true }],
      },
    ];
  });
  return { prompts, ...more };
}

export const getPrompt: Method = async (given, services) => {
  const { request, params } = given;
  const name = textIn(params['name']) ?? '';
  const prompt = await findOffer(services.execution, request.call, ({ prompts }) => prompts.get(name));
  const args = fieldsOf(params['arguments']);
  if (prompt) {
    const asked = { method: 'prompts/get', agent: prompt.agent, name, isAgent: false, arguments: args } as const;
    const missing = needed(prompt.shown).find((each) => !Object.hasOwn(args, each));
    if (missing !== undefined) throw invalidParams(`the argument "${missing}" is required`);
    return runCall(asked, given, services);
  }
  return ofAssistant(given, { id: name, message: textIn(args['message']) }, services);
};

const needed = (shown: Fields): readonly string[] =>
  Array.isArray(shown['arguments'])
    ? shown['arguments'].flatMap((each) => {
        const { name, required } = fieldsOf(each);
        return required === true && typeof name === 'string' ? [name] : [];
      })
    : [];

/** The prompt of an assistant: it has the model ask it. @throws RpcError */
async function ofAssistant(
  { request }: McpRequest,
  { id, message }: { readonly id: string; readonly message: string | undefined },
  services: Services,
): Promise<Fields> {
  const { owner, call } = request;
  const noPrompt = () => invalidParams(`there is no prompt "${id.slice(0, 128)}"`);
  if (id === '') throw noPrompt();
  const assistant = await undefinedIfNotFound(getAssistant(services.threads, { owner, id }, call));
  if (!assistant) throw noPrompt();
  const { agent, description } = assistant;
  await authorize(request, readingAssistants, { ...(agent !== undefined && { agent }) }, services);
  if (message === undefined) throw invalidParams('the argument "message" is required');
  const tool = agent === undefined ? 'the tool of the agent' : `the tool "${agent}"`;
  const text = `Ask ${tool} with the assistant_id "${id}":\n\n${message}`;
  return {
    ...(description !== undefined && { description }),
    messages: [{ role: 'user', content: { type: 'text', text } }],
  };
}
