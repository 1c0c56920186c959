import { idText } from '@agent-workflow/protos/message';
import type { Named } from '../../http/dialect.ts';
import { agentOf } from './endpoints/common/named-agent.ts';

interface Input {
  readonly agent?: unknown;
  readonly thread_id?: string | number;
  readonly config?: { readonly agent?: unknown; readonly thread_id?: string | number };
  readonly filters?: Readonly<Record<string, unknown>>;
}

/** The agent and the thread that an input names; selections of memories name their thread also by `filters`. */
export function namedIn({ agent, thread_id: own, config, filters }: Input): Named {
  const filtered = filters?.['thread_id'];
  const threadId = own ?? config?.thread_id ?? (typeof filtered === 'string' ? filtered : undefined);
  return {
    ...agentOf({ agent }),
    agentOfRun: agentOf({ agent: config?.agent }).agent,
    threadId: threadId === undefined ? undefined : idText(threadId),
  };
}
