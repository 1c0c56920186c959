import type { Message } from '@agent-workflow/graph';
import type { RunEvent } from '@agent-workflow/protos/execution';
import { chunkText } from '../../events.ts';

export interface Chunk {
  readonly event: string;
  readonly data: unknown;
  readonly message?: Message;
  readonly state?: unknown;
  readonly thread_id: string;
  readonly run_id: string;
  readonly metadata: {
    readonly request_id: string;
    readonly node?: string;
    readonly message_id?: string;
    readonly role?: string;
  };
  readonly timestamp: string;
}

export interface Result {
  readonly messages: readonly Message[];
  readonly all_messages: readonly Message[];
  readonly state?: Readonly<Record<string, unknown>>;
  readonly context?: readonly Message[];
  readonly summary?: string;
  readonly iterations: number;
  readonly recursion_limit_reached: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly meta: {
    readonly thread_id: string;
    readonly run_id: string;
    readonly is_new_thread: boolean;
    readonly status: string;
    readonly resumes?: string;
  };
}

export function toChunk(event: RunEvent | undefined): Chunk {
  if (!event) throw new Error('there is no such event');
  return JSON.parse(chunkText(event)) as Chunk;
}

export function resultOf(chunk: Chunk | undefined): Result {
  if (chunk?.event !== 'on_chain_end') throw new Error(`the run did not end well: ${JSON.stringify(chunk?.data)}`);
  return chunk.data as Result;
}
