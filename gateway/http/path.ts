import { ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { writeRefusal } from './envelope.ts';
import type { Middleware } from './context.ts';

/**
 * Refuses an address that is too long or whose path has broken percent-encoding, and reads an encoded colon as one:
 * clients that encode the colon of `graph:StateSchema` are right to.
 */
export const readablePath: Middleware = (ctx, next) => {
  if (ctx.url.length > sizes.url) {
    const message = `the path and query are longer than ${String(sizes.url)} bytes`;
    writeRefusal(ctx, { status: 414, code: 'PAYLOAD_TOO_LARGE', message });
    return;
  }
  const { path } = ctx;
  if (path.includes('%')) {
    if (!decodes(path)) throw new ServiceError('BadRequest', 'the path has broken percent-encoding');
    ctx.path = path.replaceAll(/%3a/gi, ':');
  }
  return next();
};

function decodes(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
