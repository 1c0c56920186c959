import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@agent-workflow/kit/errors';
import { runFilesPath, type RunFileGrant, type RunFiles } from '@agent-workflow/protos/run-files';
import { discardRest } from '../http/body.ts';
import type { Context } from '../http/context.ts';
import { sendHead } from '../http/reply.ts';
import { refuseMethod } from '../http/unmatched.ts';
import type { ReadGrant } from './grants.ts';

interface GrantedOptions {
  readonly runFiles: RunFiles;
  readonly readGrant: ReadGrant;
  /** Counts the memory that a file takes while it is stored. @throws Unavailable when there is none. */
  readonly reserve: (ctx: Context) => void;
}

/** How this route is named in metrics and spans. */
export const runFilesRoute = { name: 'runFiles', path: runFilesPath, isStream: false } as const;

/** A worker that sends or takes nothing for this time is cut off. In milliseconds. */
const stalledMs = 60_000;

/**
 * What workers read and write for their runs. It stands before authentication, because its callers are workers: each request has a
 * grant that its worker has sealed, or that came with the claim of its run, and that names owner, run and claim.
 */
export function grantedFiles({ runFiles, readGrant, reserve }: GrantedOptions): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    ctx.state.route = runFilesRoute;
    const grant = grantOf(ctx, readGrant);
    ctx.state.principal = { owner: grant.owner };
    const method = grant.use === 'write' ? 'POST' : 'GET';
    if (ctx.method !== method) {
      refuseMethod(ctx, [method]);
      return;
    }
    const left = new AbortController();
    ctx.res.once('close', () => left.abort(new ServiceError('Cancelled', 'the worker disconnected')));
    if (grant.use === 'write') reserve(ctx);
    await serve(ctx, { runFiles, grant, signal: left.signal });
  };
}

function grantOf(ctx: Context, readGrant: ReadGrant): RunFileGrant {
  const grant = readGrant(ctx.req.headers);
  if (!grant) throw new ServiceError('Unauthenticated', 'the grant is not valid, or its time is over');
  return grant;
}

interface Serving {
  readonly runFiles: RunFiles;
  readonly grant: RunFileGrant;
  readonly signal: AbortSignal;
}

async function serve(ctx: Context, { runFiles, grant, signal }: Serving): Promise<void> {
  switch (grant.use) {
    case 'info':
      sendJson(ctx, await runFiles.info(grant, grant.fileId, signal));
      return;
    case 'read':
      return sendBytes(ctx, runFiles.read(grant, grant.fileId, signal, grant.from));
    case 'write': {
      ctx.req.setTimeout(stalledMs);
      try {
        sendJson(ctx, await runFiles.write(grant, { ...grant, bytes: arriving(ctx) }, signal));
        return;
      } catch (error) {
        if (!ctx.req.complete) discardRest(ctx);
        throw error;
      }
    }
  }
}

/** The body as it comes. The request is left open when its reader leaves, so that the reply can be sent. */
async function* arriving({ req }: Context): AsyncGenerator<Uint8Array> {
  yield* req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  if (!req.complete) throw new ServiceError('Cancelled', 'the worker disconnected');
}

function sendJson(ctx: Context, value: unknown): void {
  sendHead(ctx, 200, ['Content-Type', 'application/json']);
  ctx.res.end(JSON.stringify(value));
}

/** The first bytes are awaited before the head is sent, so that what cannot be read is refused like anything else. */
async function sendBytes(ctx: Context, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const rest = bytes[Symbol.asyncIterator]();
  const first = await rest.next();
  sendHead(ctx, 200, ['Content-Type', 'application/octet-stream']);
  ctx.res.setTimeout(stalledMs);
  await pipeline(Readable.from(joined(first, rest), { objectMode: false }), ctx.res);
}

async function* joined(
  first: IteratorResult<Uint8Array, unknown>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (first.done) return;
  yield first.value;
  yield* { [Symbol.asyncIterator]: () => rest };
}
