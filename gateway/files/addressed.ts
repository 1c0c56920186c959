import { ServiceError } from '@agent-workflow/kit/errors';
import type { Log } from '@agent-workflow/kit/log';
import { within } from '@agent-workflow/protos/call';
import type { FileCalls } from '@agent-workflow/protos/threads';
import type { Authenticate } from '../http/access.ts';
import type { FileContent } from '../http/content.ts';
import type { Context, Middleware } from '../http/context.ts';
import { refuseMethod } from '../http/unmatched.ts';
import type { FileStore } from './open.ts';
import { toContent } from './to-content.ts';

/** Authenticates the reader of a file's address as its owner, for that one file; every other request by `authenticate`. */
export function withAddresses({
  files,
  authenticate,
}: {
  readonly files: FileStore;
  readonly authenticate: Authenticate;
}): Authenticate {
  return (ctx) => {
    const { fileToken } = ctx.state;
    if (fileToken === undefined) return authenticate(ctx);
    const addressed = files.addresses.read(fileToken);
    if (!addressed)
      throw new ServiceError('Unauthenticated', 'the address of the file is not valid, or its time is over');
    ctx.state.addressed = { owner: addressed.owner, fileId: addressed.fileId };
    return { owner: addressed.owner };
  };
}

interface AddressedOptions {
  readonly threads: Pick<FileCalls, 'getFile'>;
  readonly files: FileStore;
  readonly log: Log;
  readonly callTimeoutMs: number;
  readonly write: (ctx: Context, content: FileContent) => Promise<void>;
}

/** The file that an address gives, and its owner. */
type Addressed = NonNullable<Context['state']['addressed']>;

/** How this route is named in metrics and spans. */
export const addressRoute = { name: 'addressedFile', path: '/files/{token}', isStream: false } as const;

/** Sends the file that the address gives. It stands before the router, because its path is no endpoint: nobody is authorized for it. */
export function addressedFiles({ threads, files, log, callTimeoutMs, write }: AddressedOptions): Middleware {
  const answer = async (ctx: Context, addressed: Addressed): Promise<void> => {
    ctx.state.route = addressRoute;
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      refuseMethod(ctx, ['GET', 'HEAD']);
      return;
    }
    const record = await threads.getFile(addressed, within(callTimeoutMs));
    await write(ctx, toContent(record, { files, log, isEmbeddable: true }));
  };
  return (ctx, next) => (ctx.state.addressed ? answer(ctx, ctx.state.addressed) : next());
}
