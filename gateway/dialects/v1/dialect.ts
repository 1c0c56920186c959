import { idText } from '@agent-workflow/protos/message';
import type { Named, Dialect } from '../../http/dialect.ts';
import type { ServiceEndpoint } from '../common/services.ts';
import { agentOf } from '../common/named-agent.ts';
import { endpoints } from './endpoints/table.ts';
import { envelope, refuse } from './replies/envelope.ts';
import { ndjson, prefersNdjson } from './replies/ndjson.ts';
import { toOpenApi } from './replies/openapi.ts';
import { sse } from './replies/sse.ts';

interface Input {
  readonly agent?: unknown;
  readonly thread_id?: string | number;
  readonly config?: {
    readonly agent?: unknown;
    readonly thread_id?: string | number;
    readonly assistant_id?: string | number;
  };
  readonly filters?: Readonly<Record<string, unknown>>;
}

/** The agent and the thread that an input names; selections of memories name their thread also by `filters`. */
function namedIn({ agent, thread_id: own, config, filters }: Input): Named {
  const filtered = filters?.['thread_id'];
  const threadId = own ?? config?.thread_id ?? (typeof filtered === 'string' ? filtered : undefined);
  return {
    ...agentOf({ agent }),
    agentOfRun: agentOf({ agent: config?.agent }).agent,
    threadId: threadId === undefined ? undefined : idText(threadId),
    assistantId: config?.assistant_id === undefined ? undefined : idText(config.assistant_id),
  };
}

/** The service's own dialect: JSON in an envelope, and a stream of events. */
export const v1: Dialect<ServiceEndpoint> = {
  name: 'v1',
  prefix: '/v1',
  rows: endpoints,
  envelope,
  deleted: '{"success":true}',
  refuse,
  framingFor: (accept) => (prefersNdjson(accept) ? ndjson : sse),
  namedIn,
  openApi: (options) => toOpenApi(endpoints, options),
};
