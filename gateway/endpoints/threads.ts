import { userIdOf } from '@agent-workflow/kit/ids';
import type { Thread } from '@agent-workflow/protos/threads';
import type { Static } from 'typebox';
import { jsonObject, jsonText, textOrNull, timeText } from '../http/json.ts';
import { maxLimit } from '../schemas/common.ts';
import type { DeleteInput, ThreadParams, ThreadsQuery } from '../schemas/threads.ts';
import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';

type Params = Static<typeof ThreadParams>;

/** The owner's threads, most recently updated first. */
export async function listThreads(
  ask: Ask<unknown, Static<typeof ThreadsQuery>>,
  { threads }: Services,
): Promise<string> {
  const { input, owner } = ask;
  const page = await threads.listThreads({ owner, ...pageOf(input) }, ask.call());
  return jsonObject({
    threads: `[${page.threads.map((thread) => threadText(thread, owner)).join(',')}]`,
    ...goOn(page.cursor),
  });
}

export async function getThread(ask: Ask<Params>, { threads }: Services): Promise<string> {
  const thread = await threads.getThread({ owner: ask.owner, threadId: ask.params.thread_id }, ask.call());
  return detailsOf(thread, ask.owner);
}

/** A thread as the routes of one thread tell it. */
export function detailsOf(thread: Thread, owner: string): string {
  const details = threadText(thread, owner);
  return `${details.slice(0, -1)},"thread_data":{"thread":${details}}}`;
}

/** Removes the thread with all that hangs on it; its memories too. */
export async function deleteThread(
  ask: Ask<Params, Static<typeof DeleteInput>>,
  { execution }: Services,
): Promise<string> {
  await execution.deleteThread({ owner: ask.owner, threadId: ask.params.thread_id, ...ask.once }, ask.call());
  return '{"success":true}';
}

/** Whether a list has more behind its page, and where it goes on. */
export const goOn = (cursor: string | undefined): Record<string, string> =>
  cursor === undefined ? { has_more: 'false' } : { has_more: 'true', cursor: JSON.stringify(cursor) };

/** The page that a list's input asks for. */
export const pageOf = (input: Static<typeof ThreadsQuery>) => ({
  limit: Math.min(input.limit, maxLimit),
  offset: Math.min(input.offset, Number.MAX_SAFE_INTEGER),
  ...(input.cursor !== undefined && { cursor: input.cursor }),
  ...(input.search && { search: input.search }),
});

/** Written out, because a list holds up to a thousand of them. */
const threadText = (thread: Thread, owner: string): string =>
  `{"thread_id":${JSON.stringify(thread.threadId)},"thread_name":${textOrNull(thread.threadName)},` +
  `"user_id":${textOrNull(userIdOf(owner))},"metadata":${thread.metadataJson ? jsonText(thread.metadataJson) : 'null'},` +
  `"created_at":${timeText(thread.createdAt)},"updated_at":${timeText(thread.updatedAt)},"run_id":${textOrNull(thread.runId)}}`;
