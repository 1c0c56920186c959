import { userIdOf } from '@agent-workflow/kit/ids';
import type { Thread } from '@agent-workflow/protos/threads';
import { jsonText, textOrNull, timeText } from '../../../../http/json.ts';

/** Thread details as JSON text: the fields of a list item, and the same in `thread_data.thread` for the reference client. */
export function detailsOf(thread: Thread, owner: string): string {
  const details = threadText(thread, owner);
  return `${details.slice(0, -1)},"thread_data":{"thread":${details}}}`;
}

/** Put together as text, because a list holds up to a thousand of them. */
export const threadText = (thread: Thread, owner: string): string =>
  `{"thread_id":${JSON.stringify(thread.threadId)},"thread_name":${textOrNull(thread.threadName)},` +
  `"user_id":${textOrNull(userIdOf(owner))},"metadata":${thread.metadataJson ? jsonText(thread.metadataJson) : 'null'},` +
  `"created_at":${timeText(thread.createdAt)},"updated_at":${timeText(thread.updatedAt)},"run_id":${textOrNull(thread.runId)},"agent":${textOrNull(thread.agent)}}`;
