import { eachOf } from '@agent-workflow/kit/each';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { toPage } from '@agent-workflow/kit/pages';
import { assistantOf, getAssistant, listAssistants, type Assistant } from '../../../assistants/index.ts';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { knownAgents } from '../../common/known-agents.ts';
import { metadataTest } from '../../common/metadata-filter.ts';
import type { Services } from '../../common/services.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { toAssistant, toOwnAssistant } from '../out/assistant.ts';
import { pageHeaders } from '../out/page-headers.ts';
import { selected } from '../out/selected.ts';
import * as schemas from '../schemas/assistants.ts';
import { row } from './row.ts';

const read = { resource: 'assistants', action: 'read' } as const;

/** What an assistant is sorted by: it is held for all of them, the assistants themselves for those of a page. */
interface Key {
  readonly assistant_id: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly name: string;
  readonly graph_id: string;
  /** The agent whose own assistant it is. */
  readonly own?: string;
}

type Searching = Pick<EndpointRequest<unknown, schemas.AssistantFilter>, 'owner' | 'call' | 'input'>;
type Calls = Pick<Services, 'threads' | 'execution'>;

/** Assistants that are read at a time. */
const atOnce = 50;

/** The assistants that pass every condition: the own ones of agents, and those that are stored. */
async function findAll({ owner, call, input }: Searching, { threads, execution }: Calls): Promise<readonly Key[]> {
  const { names, defaultName = '' } = await knownAgents(execution, call());
  const name = input.name?.toLowerCase();
  const hasMetadata = metadataTest(input.metadata, ['body', 'metadata']);
  const matches = (agent: string, shownName: string, metadata: Readonly<Record<string, unknown>>): boolean =>
    (input.graph_id === undefined || agent === input.graph_id) &&
    (name === undefined || shownName.toLowerCase().includes(name)) &&
    hasMetadata(metadata);
  const keys: Key[] = names
    .filter((own) => matches(own, own, { created_by: 'system' }))
    .map((own) => ({ ...{ assistant_id: assistantIdOf(own), name: own, graph_id: own, own }, ...never }));
  let cursor: string | undefined;
  do {
    const page = await listAssistants(threads, { owner, limit: atOnce, ...(cursor !== undefined && { cursor }) }, call);
    for (const resource of page.rows) {
      const found = assistantOf(resource);
      const agent = found?.agent ?? defaultName;
      if (found && matches(agent, found.name ?? '', found.metadata)) keys.push(keyOf(found, agent));
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  return keys;
}

const never = { created_at: 0, updated_at: 0 };

const keyOf = ({ id, createdAt, updatedAt, name = '' }: Assistant, agent: string): Key => ({
  ...{ assistant_id: id, created_at: createdAt, updated_at: updatedAt, name, graph_id: agent },
});

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

const searchAssistants = row({
  name: 'lgSearchAssistants',
  method: 'POST',
  path: '/langgraph/assistants/search',
  access: read,
  input: schemas.SearchAssistants,
  handle: async (request, services) => {
    const { input, owner, call, addReplyHeaders } = request;
    const { limit, offset, sort_by: by = 'created_at', sort_order: order = 'desc', select } = input;
    const sign = order === 'asc' ? 1 : -1;
    const all = await findAll(request, services);
    const wanted = all.toSorted((a, b) => sign * compare(a[by], b[by])).slice(offset, offset + limit);
    const texts: (string | undefined)[] = [];
    await eachOf([...wanted.entries()], 8, async ([index, { own, assistant_id: id, graph_id: agent }]) => {
      const stored =
        own === undefined ? await undefinedIfNotFound(getAssistant(services.threads, { owner, id }, call)) : undefined;
      const shown = own === undefined ? stored && toAssistant(stored, agent) : toOwnAssistant(own);
      if (shown) texts[index] = JSON.stringify(selected(shown, select));
    });
    const { items } = toPage(
      texts.filter((text) => text !== undefined),
      { limit, sizeOf: (text) => text.length },
    );
    addReplyHeaders(pageHeaders({ offset, count: items.length, total: all.length }));
    return `[${items.join(',')}]`;
  },
});

const countAssistants = row({
  name: 'lgCountAssistants',
  method: 'POST',
  path: '/langgraph/assistants/count',
  access: read,
  input: schemas.CountAssistants,
  handle: async (request, services) => String((await findAll(request, services)).length),
});

export const foundAssistantRows = [searchAssistants, countAssistants];
