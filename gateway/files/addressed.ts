import { notFound, ServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within, type Call } from '@agent-workflow/protos/call';
import type { FileCalls } from '@agent-workflow/protos/threads';
import type { Authenticate } from '../http/access.ts';
import type { FileContent } from '../http/content.ts';
import type { Context } from '../http/context.ts';
import { refuseMethod } from '../http/unmatched.ts';
import type { FileStore } from './open.ts';
import { toContent, untilAborted } from './to-content.ts';

interface EnteredByKey {
  /** Lets in by an address that was made with the API key of this id. @throws Unauthenticated */
  readonly enterByKey: (ctx: Context, keyId: string) => Promise<void>;
}

/** Authenticates the reader of a file's address as its owner, for that one file. */
export const byAddress =
  ({ addresses, enterByKey }: Pick<FileStore, 'addresses'> & EnteredByKey): Authenticate =>
  (ctx) => {
    const { state } = ctx;
    const addressed = addresses.read(state.fileToken ?? '');
    if (!addressed)
      throw new ServiceError('Unauthenticated', 'the address of the file is not valid, or its time is over');
    const { keyId, until: _until, ...file } = addressed;
    const { owner } = file;
    state.addressed = file;
    return keyId === undefined ? { owner } : enterByKey(ctx, keyId).then(() => ({ owner }));
  };

interface AddressedOptions {
  readonly threads: Pick<FileCalls, 'getFile'>;
  readonly files: FileStore;
  readonly log: Log;
  readonly callTimeoutMs: number;
  readonly write: (ctx: Context, content: FileContent) => Promise<void>;
  /** Goes on by a share until it is disposed of; `end` is called when the share ends. @throws NotFound when it has ended */
  readonly holdShare: (shareId: string, call: Call, end: () => void) => Promise<HeldShare>;
}

interface HeldShare extends Disposable {
  /** The thread that is shared. */
  readonly threadId: string;
}

/** How this route is named in metrics and spans. */
export const addressRoute = { name: 'addressedFile', path: '/files/{token}', isStream: false } as const;

/** Sends the file that the address gives. It stands before the router, because its path is no endpoint: nobody is authorized for it. */
export function addressedFiles({
  threads,
  files,
  log,
  callTimeoutMs,
  write,
  holdShare,
}: AddressedOptions): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    const { addressed } = ctx.state;
    if (!addressed) throw notFound(`there is nothing at ${ctx.path}`);
    ctx.state.route = addressRoute;
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      refuseMethod(ctx, ['GET', 'HEAD']);
      return;
    }
    const { shareId, ...key } = addressed;
    const ended = new AbortController();
    const call = within(callTimeoutMs);
    using held = shareId === undefined ? undefined : await holdShare(shareId, call, () => ended.abort());
    const record = await threads.getFile({ ...key, ...(held && { threadId: held.threadId }) }, call);
    await write(ctx, untilAborted(toContent(record, { files, log, isEmbeddable: true }), ended.signal));
  };
}
