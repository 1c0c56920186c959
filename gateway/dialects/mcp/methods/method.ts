import { isServiceError } from '@agent-workflow/kit/errors';
import type { Access } from '../../../http/access.ts';
import type { EndpointRequest, Row, ThreadStream } from '../../../http/endpoint.ts';
import type { Services } from '../../common/services.ts';
import type { RpcMessage } from '../schemas/message.ts';
import type { Client } from '../wire/client.ts';
import type { Fields } from '../wire/fields.ts';

/** A request of a client. */
export interface McpRequest {
  readonly request: EndpointRequest<unknown, RpcMessage>;
  readonly client: Client;
  readonly id: string | number;
  readonly params: Fields;
}

/** Gives the result of a request, or the messages up to it. @throws RpcError */
export type Method = (asked: McpRequest, services: Services) => Promise<Fields | ThreadStream>;

/** What a request is about, in the words of paths. */
interface About {
  readonly agent?: string;
  readonly thread_id?: string;
  readonly run_id?: string;
}

/**
 * Asks the authorization backend about what a request does: its path does not say it.
 * @returns the agent for which it was allowed; `undefined` where that does not depend on the agent. @throws PermissionDenied
 */
export function authorize(
  { owner, user }: Pick<EndpointRequest, 'owner' | 'user'>,
  access: Access,
  about: About,
  { authorizeRun }: Pick<Services, 'authorizeRun'>,
): Promise<string | undefined> {
  const row: Row = { name: 'mcp', method: 'POST', path: '/mcp', aliases: [], answer: 'bare', status: 200, access };
  const params = Object.fromEntries(Object.entries(about).filter(([, id]) => id !== undefined));
  return authorizeRun({ owner, ...(user && { user }) }, row, {}, params);
}

/** Whether the caller may do what is decided without an agent and a thread. */
export async function isAllowed(
  request: Pick<EndpointRequest, 'owner' | 'user'>,
  access: Access,
  services: Pick<Services, 'authorizeRun'>,
): Promise<boolean> {
  try {
    await authorize(request, access, {}, services);
    return true;
  } catch (error) {
    if (isServiceError(error, 'PermissionDenied')) return false;
    throw error;
  }
}

/** The agents of these that the caller may read. */
export async function readableAgents(
  request: Pick<EndpointRequest, 'owner' | 'user'>,
  agents: readonly string[],
  services: Pick<Services, 'mayTouch' | 'authorizeRun'>,
): Promise<ReadonlySet<string>> {
  const { owner, user } = request;
  const { mayTouch } = services;
  if (!mayTouch) return new Set((await isAllowed(request, reading, services)) ? agents : []);
  const principal = { owner, ...(user && { user }) };
  const known = await Promise.all(
    [...new Set(agents)].map(async (agent) => ((await mayTouch(principal, reading, { agent })) ? [agent] : [])),
  );
  return new Set(known.flat());
}

export const reading = { resource: 'graph', action: 'read' } as const;
export const invoking = { resource: 'graph', action: 'invoke' } as const;
export const stopping = { resource: 'graph', action: 'stop' } as const;
export const readingThreads = { resource: 'checkpointer', action: 'read' } as const;
