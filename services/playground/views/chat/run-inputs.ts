import type { NewMessage } from '@agent-workflow/client';
import { client } from '../../session/session.ts';
import type { Conversation } from './conversation.ts';

/** What a run began with. */
export interface RunInput {
  /** The messages of the user; none when it began with an answer or a result of a tool, and when they are not on the page. */
  readonly messages: readonly NewMessage[];
  /** The version of the thread that they came with; `undefined` when it is no longer kept. */
  readonly checkpointId: string | undefined;
}

/** How many versions of the thread are looked through for the one that has the input of a run. */
const versionsAtOnce = 100;

/** What a run began with, by the record. @throws RequestError when the thread cannot be read */
export async function recordedInput(
  { entries }: Conversation,
  { threadId, runId, signal }: { readonly threadId: string; readonly runId: string; readonly signal: AbortSignal },
): Promise<RunInput> {
  const { checkpoints } = await client.threads.checkpoints(threadId, { limit: versionsAtOnce }, { signal });
  const checkpointId = checkpoints.find((each) => each.source === 'input' && each.run_id === runId)?.checkpoint_id;
  const messages = entries
    .filter((entry) => checkpointId !== undefined && entry.checkpointId === checkpointId)
    .map(({ id, role, blocks }) => ({ role, message_id: id, content: blocks }));
  return { checkpointId, messages };
}
