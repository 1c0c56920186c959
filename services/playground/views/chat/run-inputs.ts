import type { NewMessage } from '@agent-workflow/client';
import { client } from '../../session/session.ts';
import type { Conversation } from './conversation.ts';

/** How many versions of the thread are looked through for the one that has the input of a run. */
const versionsAtOnce = 100;

/**
 * The messages on the page that a run began with, by the record. None when they are not on the page, or their version is no longer kept.
 * @throws RequestError when the thread cannot be read
 */
export async function recordedInput(
  { entries }: Conversation,
  { threadId, runId, signal }: { readonly threadId: string; readonly runId: string; readonly signal: AbortSignal },
): Promise<readonly NewMessage[]> {
  const { checkpoints } = await client.threads.checkpoints(threadId, { limit: versionsAtOnce }, { signal });
  const input = checkpoints.find((each) => each.source === 'input' && each.run_id === runId);
  return entries
    .filter(({ checkpointId }) => checkpointId !== undefined && checkpointId === input?.checkpoint_id)
    .map(({ id, role, blocks }) => ({ role, message_id: id, content: blocks }));
}
