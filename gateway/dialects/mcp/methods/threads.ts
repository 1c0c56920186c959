import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { jsonWithoutProviderData } from '@agent-workflow/protos/provider-data';
import { idFault } from '@agent-workflow/protos/message';
import type { Thread } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import { matchTemplate } from '../offers/template.ts';
import { authorize, isAllowed, readingThreads } from './method.ts';
import type { Fields } from '../wire/fields.ts';

/** The addresses of threads. */
export const threadTemplate: Fields = {
  uriTemplate: 'threads://{thread_id}',
  name: 'thread',
  title: 'Thread',
  description: 'A thread of the caller, with its newest messages',
  mimeType: 'application/json',
};

const uriOf = (threadId: string): string => `threads://${encodeURIComponent(threadId)}`;

/** Threads of one page, and messages of one thread (counts). */
const [pageThreads, shownMessages] = [100, 100];

type Request = Pick<EndpointRequest, 'owner' | 'user' | 'call'>;

/** A page of the caller's threads as resources. A caller who may read none gets none. */
export async function listThreads(
  request: Request,
  cursor: string | undefined,
  services: Services,
): Promise<{ readonly resources: readonly Fields[]; readonly cursor?: string | undefined }> {
  const { owner, user, call } = request;
  const { threads, mayTouch } = services;
  if (!mayTouch && !(await isAllowed(request, readingThreads, services))) return { resources: [] };
  const page = await threads.listThreads(
    { owner, limit: pageThreads, offset: 0, ...(cursor !== undefined && { cursor }) },
    call(),
  );
  const principal = { owner, ...(user && { user }) };
  const readable = await Promise.all(
    page.threads.map(
      async ({ threadId, agent }) =>
        !mayTouch ||
        mayTouch(principal, readingThreads, { thread_id: threadId, ...(agent !== undefined && { agent }) }),
    ),
  );
  return { resources: page.threads.filter((_, index) => readable[index]).map(toResource), cursor: page.cursor };
}

const toResource = ({ threadId, title, updatedAt }: Thread): Fields => ({
  ...{ uri: uriOf(threadId), name: threadId, mimeType: 'application/json' },
  ...(title !== undefined && { title }),
  annotations: { lastModified: new Date(updatedAt).toISOString() },
});

/** The contents of a thread; `undefined` for an address that is that of none. */
export async function readThread(request: Request, uri: string, services: Services): Promise<Fields | undefined> {
  const threadId = matchTemplate('threads://{thread_id}', uri)?.['thread_id'];
  if (threadId === undefined || idFault(threadId)) return undefined;
  const { owner, call } = request;
  const { threads } = services;
  const thread = await undefinedIfNotFound(threads.getThread({ owner, threadId }, call()));
  if (!thread) return undefined;
  await authorize(request, readingThreads, { thread_id: threadId }, services);
  const { messagesJson } = await threads.listMessages(
    { owner, threadId, limit: shownMessages, offset: 0, newestFirst: true },
    call(),
  );
  const messages = JSON.parse(jsonWithoutProviderData(jsonText(messagesJson))) as readonly unknown[];
  const text = JSON.stringify({
    ...{ thread_id: threadId, title: thread.title, agent: thread.agent, status: thread.status },
    messages: messages.toReversed(),
  });
  return { contents: [{ uri, mimeType: 'application/json', text }] };
}
