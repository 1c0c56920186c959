import { notFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import { fromShareId, type Share } from './share.ts';
import { findShare } from './shares.ts';
import { watchShare } from './watch.ts';

/** What goes on by a share. */
interface HeldShare extends Disposable {
  /** The thread that is shared. */
  readonly threadId: string;
}

/**
 * Lets something go on by a share that let its caller in before, until it is disposed of; `end` is called when the share ends.
 * @throws NotFound when it has ended
 */
export const holdShare =
  (threads: Pick<ResourceCalls, 'getResource'>) =>
  async (shareId: string, call: Call, end: () => void): Promise<HeldShare> => {
    const key = fromShareId(shareId);
    const share = key && (await findShare(threads, key, call));
    if (!share || !lasts(share)) throw notFound('there is no such share');
    const watch = watchShare(threads, share, { mayGoOn: lasts, end });
    return { threadId: share.threadId, [Symbol.dispose]: () => watch[Symbol.dispose]() };
  };

const lasts = ({ until = Infinity }: Share): boolean => Date.now() < until;
