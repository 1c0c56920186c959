import { request, type Connection, type RequestOptions } from './request.ts';
import type { Agent, AgentItem, AgentRegistration, NewRouting } from './shapes/agents.ts';

export function agentsOf(connection: Connection) {
  return {
    /** The agents of the service, the default first, the others by name. */
    list: (options: RequestOptions = {}): Promise<{ readonly agents: readonly AgentItem[] }> =>
      request(connection, { method: 'GET', path: '/v1/agents', ...options }),
    /** An agent with its tools, its graph and the fields of its state. */
    get: (name: string, options: RequestOptions = {}): Promise<Agent> =>
      request(connection, { method: 'GET', path: '/v1/agents/{name}', ids: { name }, ...options }),
    /** Says which registered revisions serve new runs, from the version of the routing that was read. */
    route: (name: string, routing: NewRouting, options: RequestOptions = {}): Promise<AgentRegistration> => {
      const path = '/v1/agents/{name}/routing';
      return request(connection, { method: 'PUT', path, ids: { name }, body: routing, ...options });
    },
    /** Takes a revision out of use for good. */
    retire: (name: string, revision: string, options: RequestOptions = {}): Promise<AgentRegistration> => {
      const path = '/v1/agents/{name}/revisions/{revision}/retire';
      return request(connection, { method: 'POST', path, ids: { name, revision }, ...options });
    },
  };
}
