import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { defaultAgent, isAgentName, mustBeAgentName } from '@agent-workflow/kit/agents';
import { within, type Call } from '@agent-workflow/protos/call';
import { idText } from '@agent-workflow/protos/message';
import { LRUCache } from 'lru-cache';
import type { Subject } from '../http/access.ts';
import type { Context } from '../http/context.ts';
import { accessOf, type Row } from '../http/endpoint.ts';
import { invalidAt } from '../http/fields.ts';
import { agentOf } from '../dialects/v1/endpoints/common/named-agent.ts';
import type { Services } from '../dialects/common/services.ts';

/** How long the agents of the service are remembered, in milliseconds. */
const agentsMs = 10_000;

/** What paths and inputs name. */
interface Named {
  readonly agent?: unknown;
  readonly thread_id?: string | number;
  readonly run_id?: string;
  readonly memory_id?: string;
  readonly filters?: Readonly<Record<string, unknown>>;
  readonly config?: { readonly agent?: unknown; readonly thread_id?: string | number };
}

/**
 * Finds what a request is about, for authorization: the agent that it names, else that of the run or thread that it names, else, for a row
 * of an agent, the default.
 */
export function createSubjectOf(
  { threads, execution, memory }: Pick<Services, 'threads' | 'execution' | 'memory'>,
  callTimeoutMs: number,
): (ctx: Context, row: Row) => Promise<Subject> {
  const cache = new LRUCache<'agents', readonly { readonly name: string; readonly isDefault: boolean }[]>({
    max: 1,
    ttl: agentsMs,
  });
  const listAgents = async (call: Call) => {
    const known = cache.get('agents');
    if (known) return known;
    const { agents } = await execution.listAgents({}, call);
    cache.set('agents', agents);
    return agents;
  };

  return async ({ state: { principal, params, input } }, row) => {
    const { owner } = principal;
    const call = within(callTimeoutMs);
    const named: Named = { ...declared(row, input), ...(params as Named | undefined) };
    if (named.run_id !== undefined) {
      const { agent, threadId } = await threads.getRun({ owner, runId: named.run_id }, call);
      return { agent, thread_id: threadId };
    }
    // Where it is absent, the request itself is answered so.
    const threadOfMemory = async (memoryId: string): Promise<string | undefined> => {
      const item = await undefinedIfNotFound(memory.get({ owner, memoryId }, call));
      return item?.threadId === '' ? undefined : item?.threadId;
    };
    const threadId = await threadOf(named, row, threadOfMemory);
    const thread = threadId === undefined ? {} : { thread_id: threadId };
    const isOfAgent = row.startsRun === true || row.isOfAgent === true;
    const given = agentOf({ agent: named.agent ?? (isOfAgent ? named.config?.agent : undefined) });
    const agents = isOfAgent ? await listAgents(call) : [];
    // A service whose agent has no name leaves the name in a request to its nodes.
    const isUnnamed = agents.length === 1 && agents[0]?.name === defaultAgent;
    if (given.agent !== undefined && !isUnnamed) {
      if (isOfAgent && named.agent === undefined && !isAgentName(given.agent)) throw noName();
      return { ...thread, agent: given.agent };
    }
    const ofThread = threadId === undefined ? undefined : await agentOfThread(threads, { owner, threadId }, row, call);
    const agent = ofThread ?? agents.find(({ isDefault }) => isDefault)?.name;
    return { ...thread, ...(agent === undefined ? {} : { agent }) };
  };
}

/**
 * The thread that a request is about: that of the memory in its path, whatever else it names; else the one that it names, in selections of
 * memories also by `filters`. A list of tools belongs to no thread.
 */
async function threadOf(
  { thread_id: inPath, config, filters, memory_id: memoryId }: Named,
  row: Row,
  threadOfMemory: (memoryId: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  if (memoryId !== undefined) return threadOfMemory(memoryId);
  if (row.isOfAgent) return undefined;
  const filtered = filters?.['thread_id'];
  const named = inPath ?? config?.thread_id ?? (typeof filtered === 'string' ? filtered : undefined);
  return named === undefined ? undefined : idText(named);
}

const noName = (): Error => invalidAt(['body', 'config', 'agent'], mustBeAgentName);

/** The fields of an input that its row reads. Any other must not say what the request is about. */
function declared({ input: schema }: Row, input: unknown): Omit<Named, 'run_id' | 'memory_id'> {
  const { properties = {} } = (schema ?? {}) as { readonly properties?: object };
  const { agent, thread_id: threadId, config, filters } = (input ?? {}) as Named;
  return {
    ...(Object.hasOwn(properties, 'agent') && { agent }),
    ...(Object.hasOwn(properties, 'thread_id') && threadId !== undefined && { thread_id: threadId }),
    ...(Object.hasOwn(properties, 'config') && config && { config }),
    ...(Object.hasOwn(properties, 'filters') && filters && { filters }),
  };
}

/**
 * The agent of a thread. A thread that the request may make, or that it only mentions, need not exist.
 * @throws NotFound for any other.
 */
async function agentOfThread(
  threads: Services['threads'],
  key: { readonly owner: string; readonly threadId: string },
  row: Row,
  call: Call,
): Promise<string | undefined> {
  const resource = accessOf(row)?.resource;
  const mayBeAbsent = row.startsRun === true || resource === 'store' || resource === 'files';
  const read = threads.getThread(key, call);
  return (await (mayBeAbsent ? undefinedIfNotFound(read) : read))?.agent;
}
