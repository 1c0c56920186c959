import { notFound } from '@agent-workflow/kit/errors';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { Call } from '@agent-workflow/protos/call';
import type { PruneThreadReply, PruneThreadRequest } from '@agent-workflow/protos/threads';
import type { ThreadHistory } from '../ports/history.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { Changing } from './changing.ts';
import { keyOf, liveHead } from './found.ts';

interface PruneParts {
  readonly store: ThreadReads & ThreadHistory;
  readonly changing: Changing;
}

/** Drops the checkpoints beyond the newest `keep` that were made before `before`; the version that the open run found is needed to roll it back. */
export async function pruneThread(
  { store, changing }: PruneParts,
  request: PruneThreadRequest,
  call: Call,
): Promise<PruneThreadReply> {
  const key = keyOf(request);
  await liveHead(store, key);
  const last = await newestToDrop(store, request, call);
  if (last === undefined) return {};
  return changing.replyOnRequest({ key, method: 'pruneThread', request }, ({ head }) => {
    if (!head || head.deleting) throw notFound(`thread "${key.threadId}" does not exist`);
    const { version, foundVersion = version } = head;
    return { change: { head, dropCheckpointsTo: Math.min(last, foundVersion - 1) }, reply: {} };
  });
}

const checkpointsAtOnce = 500;

/** The newest checkpoint that is to go: it and all before it are older than is asked to be kept. */
async function newestToDrop(
  store: ThreadHistory,
  request: PruneThreadRequest,
  { signal }: Call,
): Promise<number | undefined> {
  const { keep, before = Infinity } = request;
  const yielder = createYielder({ signal });
  let page: { readonly offset?: number; readonly below?: number } = { offset: keep };
  for (;;) {
    const rows = await store.listCheckpoints(keyOf(request), { ...page, limit: checkpointsAtOnce });
    const found = rows.find(({ at }) => at < before);
    if (found) return found.version;
    const last = rows.at(-1);
    if (!last || rows.length < checkpointsAtOnce) return undefined;
    page = { below: last.version };
    await yielder.yield();
  }
}
