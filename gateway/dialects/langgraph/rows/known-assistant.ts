import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { getAssistant, type Assistant } from '../../../assistants/index.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { knownAgents } from '../../common/known-agents.ts';
import type { Services } from '../../common/services.ts';
import { agentOfAssistant } from '../ids/assistant-id.ts';
import { isUuid, noUuid } from '../ids/uuid.ts';
import { refusalWith } from '../replies/refusal.ts';

type Calls = Pick<Services, 'threads' | 'execution'>;

/** What an id of an assistant stands for: the own assistant of an agent, or a stored one. */
export type KnownAssistant =
  { readonly own: string } | { readonly stored: Assistant; /** The agent of its runs. */ readonly agent: string };

/** The assistant of a path. The name of a graph is no id of one, unless the path takes it. @throws NotFound */
export async function assistantOfPath(
  request: Pick<EndpointRequest, 'owner' | 'call'>,
  id: string,
  services: Calls,
  { takesGraphs = false } = {},
): Promise<KnownAssistant> {
  const isRead = takesGraphs || isUuid(id);
  const found = isRead ? await find(request, id, services) : await findStored(request, id, services);
  if (found) return found;
  throw isUuid(id) ? refusalWith('NotFound', 'Not Found') : refusalWith('Invalid', noUuid('assistant'));
}

/** The assistant of a run, which its body names by an id, or by the name of a graph. @throws Invalid, NotFound */
export async function assistantOfRun(
  request: Pick<EndpointRequest, 'owner' | 'call'>,
  id: string,
  services: Calls,
): Promise<KnownAssistant> {
  const found = await find(request, id, services);
  if (found) return found;
  if (isUuid(id)) throw refusalWith('NotFound', 'Thread or assistant not found.');
  const { names } = await knownAgents(services.execution, request.call());
  const list = names.join(', ');
  const ways = `- A valid assistant UUID, or\n- One of the registered graphs: ${list}`;
  throw refusalWith('Invalid', `Invalid assistant: '${id}'. Must be either:\n${ways}`);
}

async function find(
  request: Pick<EndpointRequest, 'owner' | 'call'>,
  id: string,
  services: Calls,
): Promise<KnownAssistant | undefined> {
  const { names } = await knownAgents(services.execution, request.call());
  const own = agentOfAssistant(id, names);
  return own === undefined ? findStored(request, id, services) : { own };
}

async function findStored(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  id: string,
  { threads, execution }: Calls,
): Promise<KnownAssistant | undefined> {
  const stored = await undefinedIfNotFound(getAssistant(threads, { owner, id }, call));
  if (!stored) return undefined;
  return { stored, agent: stored.agent ?? (await defaultAgentOf(execution, call)) };
}

/** The agent of an assistant that names none. */
export const defaultAgentOf = async (
  execution: Services['execution'],
  call: EndpointRequest['call'],
): Promise<string> => (await knownAgents(execution, call())).defaultName ?? '';
