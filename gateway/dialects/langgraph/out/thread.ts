import type { ThreadStatus } from '@agent-workflow/protos/lists';
import type { Thread } from '@agent-workflow/protos/threads';
import { jsonText } from '../../../http/json.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import type { Interrupt } from './interrupts.ts';
import { shownTime } from './shown-time.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The statuses of LangGraph. A status that is added here does not compile until it has one. */
export const statusOfThread: Readonly<Record<ThreadStatus, 'idle' | 'busy' | 'interrupted' | 'error'>> = {
  queued: 'busy',
  running: 'busy',
  sleeping: 'busy',
  interrupted: 'interrupted',
  failed: 'error',
  idle: 'idle',
};

/** The metadata of a thread, with the graph that it belongs to. */
export const metadataOf = ({ metadataJson, agent }: Pick<Thread, 'metadataJson' | 'agent'>): JsonObject => ({
  ...(agent !== undefined && { graph_id: agent, assistant_id: assistantIdOf(agent) }),
  ...(metadataJson && (JSON.parse(jsonText(metadataJson)) as JsonObject)),
});

/** Open questions by the ids of their tasks. */
export type AskedByTask = Readonly<Record<string, readonly Interrupt[]>>;

/** A thread without its values. */
export const toThread = (thread: Thread, interrupts: AskedByTask): JsonObject => ({
  thread_id: thread.threadId,
  created_at: shownTime(thread.createdAt),
  updated_at: shownTime(thread.updatedAt),
  state_updated_at: shownTime(thread.updatedAt),
  metadata: metadataOf(thread),
  status: statusOfThread[thread.status ?? 'idle'],
  config: { configurable: {} },
  interrupts,
});

/** When a thread goes that is not used any more. */
export const toTtl = ({ ttlSeconds, updatedAt }: Thread): JsonObject | null =>
  ttlSeconds === undefined
    ? null
    : {
        strategy: 'delete',
        ttl_minutes: ttlSeconds / 60,
        expires_at: shownTime(updatedAt + ttlSeconds * 1000),
      };
