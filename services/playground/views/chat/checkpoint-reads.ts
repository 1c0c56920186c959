import { client } from '../../session/session.ts';
import type { Checkpoint, CheckpointReads } from './forks.ts';

/** The most checkpoints that are looked through. */
const maxCheckpoints = 1000;

/** Reads the versions of a thread. */
export const readsOf = (threadId: string): CheckpointReads => ({
  list: async () => {
    const kept: Checkpoint[] = [];
    for (let cursor: string | undefined; kept.length < maxCheckpoints;) {
      const page = await client.threads.checkpoints(threadId, { limit: 100, ...(cursor !== undefined && { cursor }) });
      kept.push(...page.checkpoints);
      ({ cursor } = page);
      if (cursor === undefined) break;
    }
    return kept;
  },
  holds: async (checkpointId, messageId) => {
    const { state } = await client.threads.checkpoint(threadId, checkpointId);
    const context = state['context'] as readonly { readonly message_id: string }[] | undefined;
    return context?.some(({ message_id: id }) => id === messageId) ?? false;
  },
});
