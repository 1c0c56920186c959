import { conflict, isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import {
  createAssistant as create,
  deleteAssistant as remove,
  getAssistant as get,
  listAssistantVersions as listVersions,
  setAssistantVersion as setVersion,
  updateAssistant as update,
  type Assistant,
  type AssistantContent,
} from '../../../assistants/index.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import { jsonText } from '../../../http/json.ts';
import { datedId } from '../../common/dated-id.ts';
import { knownAgents } from '../../common/known-agents.ts';
import { metadataTest } from '../../common/metadata-filter.ts';
import type { Services } from '../../common/services.ts';
import { changeOf, contentOf, refuseLargeAssistant, refuseUnknownAgent } from '../in/content-of-assistant.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { isUuid, noUuid } from '../ids/uuid.ts';
import { toAssistant, toAssistantVersion, toOwnAssistant } from '../out/assistant.ts';
import { toDrawing, type Drawing } from '../out/drawing.ts';
import { toGraphSchemas } from '../out/graph-schemas.ts';
import { refusalWith } from '../replies/refusal.ts';
import * as schemas from '../schemas/assistants.ts';
import { assistantOfPath, defaultAgentOf, type KnownAssistant } from './known-assistant.ts';
import { row } from './row.ts';

const read = { resource: 'assistants', action: 'read' } as const;
const write = { resource: 'assistants', action: 'write' } as const;

const shown = (known: KnownAssistant): string =>
  JSON.stringify('own' in known ? toOwnAssistant(known.own) : toAssistant(known.stored, known.agent));

/** A stored assistant as a reply. */
const shownStored = async (
  stored: Assistant,
  { call }: Pick<EndpointRequest, 'call'>,
  { execution }: Pick<Services, 'execution'>,
): Promise<string> => shown({ stored, agent: stored.agent ?? (await defaultAgentOf(execution, call)) });

/** The own assistant of an agent does not change. @throws Conflict */
function storedOf(known: KnownAssistant): Assistant {
  if ('stored' in known) return known.stored;
  throw conflict(`Assistant ${assistantIdOf(known.own)} is that of the graph ${known.own} itself: create another one`);
}

const createAssistant = row({
  name: 'lgCreateAssistant',
  method: 'POST',
  path: '/langgraph/assistants',
  access: write,
  input: schemas.CreateAssistant,
  handle: async (request, services) => {
    const { input, owner, newId, at, idempotency, call } = request;
    const { threads, execution } = services;
    const { names } = await knownAgents(execution, call());
    refuseUnknownAgent(input.graph_id, names);
    if (input.assistant_id !== undefined && !isUuid(input.assistant_id))
      throw refusalWith('Invalid', noUuid('assistant'));
    const id = input.assistant_id ?? datedId(newId('assistant'), at);
    const content = { metadata: {}, config: {}, context: {}, ...contentOf(input) };
    refuseLargeAssistant(content);
    const taken = names.find((name) => assistantIdOf(name) === id);
    if (taken !== undefined) {
      if (input.if_exists !== 'do_nothing') throw conflict(`Assistant ${id} already exists`);
      return shown({ own: taken });
    }
    const created = create(threads, { owner, id }, { content, by: idempotency.onceKey, call });
    return shownStored(await created.catch(ifThere(request, id, services)), request, services);
  },
});

/** What is answered for an id that is taken: the assistant that has it, where the request says so. */
const ifThere =
  (
    { input, owner, call }: Pick<EndpointRequest<unknown, { readonly if_exists?: string }>, 'input' | 'owner' | 'call'>,
    id: string,
    { threads }: Pick<Services, 'threads'>,
  ) =>
  async (error: unknown): Promise<Assistant> => {
    if (!isServiceError(error, 'Conflict')) throw error;
    const there = await undefinedIfNotFound(get(threads, { owner, id }, call));
    if (!there) throw error;
    if (input.if_exists === 'do_nothing') return there;
    throw conflict(`Assistant ${id} already exists`);
  };

const getAssistant = row({
  name: 'lgGetAssistant',
  method: 'GET',
  path: '/langgraph/assistants/{assistant_id}',
  access: read,
  params: schemas.AssistantParams,
  handle: async (request, services) => shown(await assistantOfPath(request, request.params.assistant_id, services)),
});

const updateAssistant = row({
  name: 'lgUpdateAssistant',
  method: 'PATCH',
  path: '/langgraph/assistants/{assistant_id}',
  access: write,
  params: schemas.AssistantParams,
  input: schemas.UpdateAssistant,
  handle: async (request, services) => {
    const { params, input, owner, idempotency, call } = request;
    const { threads, execution } = services;
    const { id } = storedOf(await assistantOfPath(request, params.assistant_id, services));
    refuseUnknownAgent(input.graph_id, (await knownAgents(execution, call())).names);
    const given = contentOf(input);
    const change = (before: AssistantContent) => changeOf(given, before);
    const edit = { change, check: refuseLargeAssistant, by: idempotency.onceKey, call };
    return shownStored(await update(threads, { owner, id }, edit), request, services);
  },
});

const deleteAssistant = row({
  name: 'lgDeleteAssistant',
  method: 'DELETE',
  path: '/langgraph/assistants/{assistant_id}',
  access: { resource: 'assistants', action: 'delete' },
  params: schemas.AssistantParams,
  input: schemas.DeleteAssistant,
  status: 204,
  handle: async (request, services) => {
    const { params, input, owner, call } = request;
    if (input.delete_threads === 'true')
      throw invalidAt(['query', 'delete_threads'], 'must be false: threads stay with their assistants deleted');
    const { id } = storedOf(await assistantOfPath(request, params.assistant_id, services));
    await remove(services.threads, { owner, id }, call);
    return '';
  },
});

const listAssistantVersions = row({
  name: 'lgListAssistantVersions',
  method: 'POST',
  path: '/langgraph/assistants/{assistant_id}/versions',
  access: read,
  params: schemas.AssistantParams,
  input: schemas.SearchVersions,
  handle: async (request, services) => {
    const { params, input, owner, call } = request;
    const isMeant = metadataTest(input.metadata, ['body', 'metadata']);
    const known = await assistantOfPath(request, params.assistant_id, services);
    if ('own' in known) {
      const { updated_at: _, ...version } = toOwnAssistant(known.own);
      return JSON.stringify([version].slice(input.offset, input.offset + input.limit));
    }
    const { id } = known.stored;
    const most = input.offset + input.limit;
    const { versions } = await listVersions(services.threads, { owner, id }, { limit: most, call });
    const matching = versions.filter(({ metadata }) => isMeant(metadata));
    const page = matching.slice(input.offset, most);
    return JSON.stringify(page.map((version) => toAssistantVersion(id, version, known.agent)));
  },
});

const setLatestVersion = row({
  name: 'lgSetLatestVersion',
  method: 'POST',
  path: '/langgraph/assistants/{assistant_id}/latest',
  access: write,
  params: schemas.AssistantParams,
  input: schemas.SetLatest,
  handle: async (request, services) => {
    const { params, input, owner, idempotency, call } = request;
    const known = await assistantOfPath(request, params.assistant_id, services);
    if ('own' in known) {
      if (input.version !== 1) throw refusalWith('NotFound', 'Not Found');
      return shown(known);
    }
    const key = { owner, id: known.stored.id };
    const change = { version: input.version, by: idempotency.onceKey, call };
    return shownStored(await setVersion(services.threads, key, change), request, services);
  },
});

const agentOfKnown = (known: KnownAssistant): string => ('own' in known ? known.own : known.agent);

const getAssistantGraph = row({
  name: 'lgGetAssistantGraph',
  method: 'GET',
  path: '/langgraph/assistants/{assistant_id}/graph',
  access: { resource: 'graph', action: 'read' },
  isOfAgent: true,
  params: schemas.AssistantParams,
  input: schemas.GraphQuery,
  handle: async (request, services) => {
    const known = await assistantOfPath(request, request.params.assistant_id, services, { takesGraphs: true });
    const { graphJson } = await services.execution.getGraph({ agent: agentOfKnown(known) }, request.call());
    return JSON.stringify(toDrawing(JSON.parse(jsonText(graphJson)) as Drawing, xrayOf(request.input.xray)));
  },
});

const getAssistantSchemas = row({
  name: 'lgGetAssistantSchemas',
  method: 'GET',
  path: '/langgraph/assistants/{assistant_id}/schemas',
  access: { resource: 'graph', action: 'read' },
  isOfAgent: true,
  params: schemas.AssistantParams,
  handle: async (request, services) => {
    const agent = agentOfKnown(await assistantOfPath(request, request.params.assistant_id, services));
    const { fieldsJson, graphJson } = await services.execution.getGraph({ agent }, request.call());
    type Fields = Parameters<typeof toGraphSchemas>[1];
    return JSON.stringify(
      toGraphSchemas(agent, JSON.parse(jsonText(fieldsJson)) as Fields, JSON.parse(jsonText(graphJson)) as Drawing),
    );
  },
});

/** Whether sub-graphs are shown, or how many levels of them. */
function xrayOf(xray: string | undefined): boolean | number {
  if (xray === undefined || !/^\d{1,3}$/.test(xray)) return isTrue(xray);
  return Number(xray);
}

/** The schemas of the sub-graphs of an agent that show themselves, by their names: those of LangGraph. The others have theirs within that of their graph. */
async function subgraphsText(
  request: Parameters<typeof assistantOfPath>[0] & { readonly params: { readonly assistant_id: string } },
  services: Services,
  isMeant: (name: string) => boolean,
): Promise<string> {
  const agent = agentOfKnown(await assistantOfPath(request, request.params.assistant_id, services));
  const { graphJson } = await services.execution.getGraph({ agent }, request.call());
  const { subgraphs = {} } = JSON.parse(jsonText(graphJson)) as Drawing;
  const meant = Object.entries(subgraphs).filter(([name]) => isMeant(name));
  const texts = meant.map(([name, { fields, schemas: own }]) => {
    const known = fields.filter((field) => field !== 'messages').map((field) => [field, { type: 'any' }] as const);
    return [name, toGraphSchemas(agent, Object.fromEntries(known), { schemas: own })] as const;
  });
  return JSON.stringify(Object.fromEntries(texts));
}

const isTrue = (word: string | undefined): boolean => word?.toLowerCase() === 'true';

const getSubgraphs = row({
  name: 'lgGetSubgraphs',
  method: 'GET',
  path: '/langgraph/assistants/{assistant_id}/subgraphs',
  access: { resource: 'graph', action: 'read' },
  isOfAgent: true,
  params: schemas.AssistantParams,
  input: schemas.SubgraphsQuery,
  handle: (request, services) =>
    subgraphsText(request, services, (name) => isTrue(request.input.recurse) || !name.includes('|')),
});

const getSubgraph = row({
  name: 'lgGetSubgraph',
  method: 'GET',
  path: '/langgraph/assistants/{assistant_id}/subgraphs/{namespace}',
  access: { resource: 'graph', action: 'read' },
  isOfAgent: true,
  params: schemas.NamespaceParams,
  input: schemas.SubgraphsQuery,
  handle: (request, services) => {
    const { namespace } = request.params;
    const isWithin = (name: string): boolean => isTrue(request.input.recurse) && name.startsWith(`${namespace}|`);
    return subgraphsText(request, services, (name) => name === namespace || isWithin(name));
  },
});

export const assistantRows = [
  createAssistant,
  getAssistant,
  updateAssistant,
  deleteAssistant,
  listAssistantVersions,
  setLatestVersion,
  getAssistantGraph,
  getAssistantSchemas,
  getSubgraphs,
  getSubgraph,
];
