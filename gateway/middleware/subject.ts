import { invalid, notFound, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { defaultAgent, isAgentName, mustBeAgentName } from '@agent-workflow/kit/agents';
import { within, type Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { ResourceCalls, RunReadCalls, ThreadReadCalls } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { decide } from '../access/decide.ts';
import type { AccessRules } from '../access/rules.ts';
import { getAssistant } from '../assistants/index.ts';
import type { Subject } from '../http/access.ts';
import type { Principal, RequestState } from '../http/context.ts';
import type { Dialect, Named } from '../http/dialect.ts';
import { accessOf, type Row } from '../http/endpoint.ts';
import { propertiesOf } from '../http/query.ts';
import { findShare, fromShareId } from '../shares/index.ts';

/** What a request is about that has been read. */
export type SubjectOf = (
  request: Pick<RequestState, 'principal' | 'params' | 'input' | 'dialect'>,
  row: Row,
) => Promise<Subject>;

/** How long the agents of the service are remembered, in milliseconds. */
const agentsMs = 10_000;

/** What paths name. Their parameters have these names in every dialect. */
interface InPath {
  readonly agent?: string;
  readonly thread_id?: string;
  readonly run_id?: string;
  readonly memory_id?: string;
  readonly assistant_id?: string;
  readonly share_id?: string;
}

interface Calls {
  readonly threads: Pick<RunReadCalls, 'getRun'> &
    Pick<ThreadReadCalls, 'getThread'> &
    Pick<ResourceCalls, 'getResource'>;
  readonly execution: Pick<Execution, 'listAgents'>;
  readonly memory: Pick<Memory, 'get'>;
}

/**
 * Finds what a request is about, for authorization: the agent that it names, else that of the run or thread that it names, else, for a row
 * of an agent, the default.
 */
export function createSubjectOf(
  { threads, execution, memory }: Calls,
  { callTimeoutMs, rules }: { readonly callTimeoutMs: number; readonly rules: AccessRules },
): SubjectOf {
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

  /** The thread that an address shares with the caller. @throws NotFound */
  const sharedBy = async (shareId: string, { owner, roles = [] }: Principal, call: Call) => {
    const key = fromShareId(shareId);
    const share = key && (await findShare(threads, key, call));
    if (share && decide(rules, { owner, roles }, { kind: 'share', action: 'read', ...share, now: Date.now() }))
      return share;
    throw notFound('there is no such share');
  };

  return async ({ principal, params, input, dialect }, row) => {
    const call = within(callTimeoutMs);
    const { share_id: shareId, ...ofPath } = (params ?? {}) as InPath;
    const shared =
      shareId === undefined || ofPath.thread_id !== undefined ? undefined : await sharedBy(shareId, principal, call);
    const owner = shared?.owner ?? principal.owner;
    const inPath: InPath = { ...ofPath, ...(shared && { thread_id: shared.threadId }) };
    const named = dialect.namedIn(declared(row, input));
    if (inPath.run_id !== undefined) {
      const { agent, threadId } = await threads.getRun({ owner, runId: inPath.run_id }, call);
      return { agent, thread_id: threadId };
    }
    // Where it is absent, the request itself is answered so.
    const threadOfMemory = async (memoryId: string): Promise<string | undefined> => {
      const item = await undefinedIfNotFound(memory.get({ owner, memoryId }, call));
      return item?.threadId === '' ? undefined : item?.threadId;
    };
    // Where it is absent, the request itself is answered so.
    const threadOfRun = async (runId: string | undefined): Promise<string | undefined> =>
      runId === undefined ? undefined : (await undefinedIfNotFound(threads.getRun({ owner, runId }, call)))?.threadId;
    const threadId =
      inPath.memory_id === undefined
        ? (threadOf(inPath, named, row) ?? (await threadOfRun(named.goesOnFrom)))
        : await threadOfMemory(inPath.memory_id);
    const thread = threadId === undefined ? {} : { thread_id: threadId };
    const isOfAgent = row.startsRun === true || row.isOfAgent === true;
    const assistantId = inPath.assistant_id ?? (isOfAgent ? named.assistantId : undefined);
    const { agentOfAssistant = noAgentOf } = dialect;
    const agents =
      isOfAgent || (assistantId !== undefined && agentOfAssistant !== noAgentOf) ? await listAgents(call) : [];
    const names = agents.map(({ name }) => name);
    const ofId = assistantId === undefined ? undefined : agentOfAssistant(assistantId, names);
    const own = inPath.agent ?? named.agent ?? ofId;
    const ofAssistant =
      assistantId === undefined || own !== undefined
        ? undefined
        : (await undefinedIfNotFound(getAssistant(threads, { owner, id: assistantId }, () => call)))?.agent;
    const given = own ?? ofAssistant ?? (isOfAgent ? named.agentOfRun : undefined);
    // A service whose agent has no name leaves the name in a request to its nodes.
    const isUnnamed = agents.length === 1 && agents[0]?.name === defaultAgent;
    if (given !== undefined && !isUnnamed) {
      if (isOfAgent && own === undefined && !isAgentName(given))
        throw invalid(['config', 'agent'], mustBeAgentName, 'value_error');
      return { ...thread, agent: given };
    }
    const ofThread = threadId === undefined ? undefined : await agentOfThread(threads, { owner, threadId }, row, call);
    const agent = ofThread ?? agents.find(({ isDefault }) => isDefault)?.name;
    return { ...thread, ...(agent === undefined ? {} : { agent }) };
  };
}

/** Agents have no assistants of their own. */
const noAgentOf: NonNullable<Dialect['agentOfAssistant']> = () => undefined;

/** The thread of the path counts over one in the input. A list of tools belongs to no thread. */
const threadOf = (inPath: InPath, named: Named, { isOfAgent }: Row): string | undefined =>
  isOfAgent ? undefined : (inPath.thread_id ?? named.threadId);

/** The fields of an input that its row reads. Any other must not say what the request is about. */
const declared = ({ input: schema }: Row, input: unknown): Readonly<Record<string, unknown>> => {
  const known = schema ? propertiesOf(schema) : {};
  return Object.fromEntries(Object.entries(input ?? {}).filter(([name]) => Object.hasOwn(known, name)));
};

/**
 * The agent of a thread. A thread that the request may make, or that it only mentions, need not exist.
 * @throws NotFound for any other.
 */
async function agentOfThread(
  threads: Calls['threads'],
  key: { readonly owner: string; readonly threadId: string },
  row: Row,
  call: Call,
): Promise<string | undefined> {
  const resource = accessOf(row)?.resource;
  const mayBeAbsent = row.startsRun === true || row.mayBeAhead === true || resource === 'store' || resource === 'files';
  const read = threads.getThread(key, call);
  return (await (mayBeAbsent ? undefinedIfNotFound(read) : read))?.agent;
}
