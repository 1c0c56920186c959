import type { Block, Message } from '@agent-workflow/protos/message';
import type { Step } from '../run/super-step.ts';

/** What a walk published while its nodes ran, in the words of the stream of a run. */
export type WalkEvent = {
  readonly node: string;
  /** The number of the step in its walk, from 1. */
  readonly step: number;
} & (ChunkEvent | ProgressEvent | RestartEvent);

/** One chunk of text, or one block, of the message with this id. */
interface ChunkEvent {
  readonly event: 'messages_chunk';
  readonly message_id: string;
  readonly role: Message['role'];
  readonly data: string | Block;
}

/** What a node or a tool gave to `ctx.progress`. */
interface ProgressEvent {
  readonly event: 'on_chain_stream';
  readonly status: 'progress';
  readonly custom: unknown;
  /** The branch of a fan-out. */
  readonly branch?: number;
}

/** A node begins another attempt: what it emitted in the attempt before is dropped. */
interface RestartEvent {
  readonly event: 'on_chain_stream';
  readonly status: 'restarted';
  /** 2 for the second attempt. */
  readonly attempt: number;
  readonly branch?: number;
}

type Published = Pick<Step, 'onChunk' | 'onProgress' | 'onRestart'>;

/** Hooks of a step that append to `events` what is published, and then call those that were given. */
export function recordEvents(events: WalkEvent[], step: number, given: Partial<Published>): Published {
  return {
    onChunk: (...args) => {
      const [node, { messageId, role, chunk: data }] = args;
      events.push({ event: 'messages_chunk', node, step, message_id: messageId, role, data });
      given.onChunk?.(...args);
    },
    onProgress: (...args) => {
      const [node, custom, branch] = args;
      events.push({ event: 'on_chain_stream', node, step, status: 'progress', custom, ...ofBranch(branch) });
      given.onProgress?.(...args);
    },
    onRestart: (...args) => {
      const [node, attempt, branch] = args;
      events.push({ event: 'on_chain_stream', node, step, status: 'restarted', attempt, ...ofBranch(branch) });
      given.onRestart?.(...args);
    },
  };
}

const ofBranch = (branch: number | undefined): { readonly branch?: number } => (branch === undefined ? {} : { branch });
