import type { NewMessage } from '@agent-workflow/client';
import { client } from '../../session/session.ts';
import type { Conversation } from './conversation.ts';

/** The messages that the runs of a thread began with. */
interface RunInputs {
  /** Notes the messages of a run that was started on this page. */
  readonly note: (runId: string, messages: readonly NewMessage[]) => void;
  readonly isOwn: (runId: string) => boolean;
  /**
   * The messages of the user that a run began with, to be sent again. None when it began with an answer or a result of a tool, and when
   * they are not on the page. @throws RequestError when the thread cannot be read.
   */
  readonly read: (threadId: string, runId: string) => Promise<readonly NewMessage[]>;
}

/** How many versions of the thread are looked through for the one that has the input of a run. */
const versions = 100;

/** Knows the inputs of runs: those of this page by heart, those of others by the versions of the thread. */
export function createRunInputs({ entries }: Conversation, signalOfPage: AbortSignal): RunInputs {
  const own = new Map<string, readonly NewMessage[]>();

  const recorded = async (threadId: string, runId: string): Promise<readonly NewMessage[]> => {
    const { checkpoints } = await client.threads.checkpoints(threadId, { limit: versions }, { signal: signalOfPage });
    const input = checkpoints.find(({ source, run_id: id }) => source === 'input' && id === runId);
    return entries
      .filter(({ checkpointId }) => checkpointId !== undefined && checkpointId === input?.checkpoint_id)
      .map(({ id, role, blocks }) => ({ role, message_id: id, content: blocks }));
  };

  return {
    note: (runId, messages) => void own.set(runId, messages),
    isOwn: (runId) => own.has(runId),
    read: async (threadId, runId) => {
      const messages = own.get(runId) ?? (await recorded(threadId, runId));
      return messages.every(({ role }) => role === 'user') ? messages : [];
    },
  };
}
