import { request, type Connection, type RequestOptions } from './request.ts';
import type {
  Assistant,
  AssistantChange,
  AssistantVersion,
  AssistantsQuery,
  NewAssistant,
} from './shapes/assistants.ts';
import type { Paged } from './shapes/lists.ts';

export function assistantsOf(connection: Connection) {
  const at = (assistantId: string, rest = '') => ({
    path: `/v1/assistants/{assistantId}${rest}`,
    ids: { assistantId },
  });
  return {
    create: (body: NewAssistant = {}, options: RequestOptions = {}): Promise<Assistant> =>
      request(connection, { method: 'POST', path: '/v1/assistants', body, ...options }),
    /** By id, descending. A page may have fewer than `limit`, or none, and still a `cursor`. */
    list: (
      query: AssistantsQuery = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly assistants: readonly Assistant[] }> =>
      request(connection, { method: 'GET', path: '/v1/assistants', query, ...options }),
    get: (assistantId: string, options: RequestOptions = {}): Promise<Assistant> =>
      request(connection, { method: 'GET', ...at(assistantId), ...options }),
    /** Makes a version with the fields given; `version` is the one that was read, where the change depends on it. */
    update: (assistantId: string, body: AssistantChange, options: RequestOptions = {}): Promise<Assistant> =>
      request(connection, { method: 'PATCH', ...at(assistantId), body, ...options }),
    /** The versions that are kept, the newest first. */
    versions: (
      assistantId: string,
      query: { readonly limit?: number; readonly cursor?: string } = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly versions: readonly AssistantVersion[] }> =>
      request(connection, { method: 'GET', ...at(assistantId, '/versions'), query, ...options }),
    version: (assistantId: string, version: number, options: RequestOptions = {}): Promise<AssistantVersion> => {
      const path = '/v1/assistants/{assistantId}/versions/{version}';
      return request(connection, { method: 'GET', path, ids: { assistantId, version: String(version) }, ...options });
    },
    /** Lets later runs have a version that is kept. */
    setVersion: (assistantId: string, version: number, options: RequestOptions = {}): Promise<Assistant> =>
      request(connection, { method: 'PUT', ...at(assistantId, '/version'), body: { version }, ...options }),
    delete: (assistantId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(assistantId), ...options }),
  };
}
