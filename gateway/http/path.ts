import { ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { writeRefusal } from './reply.ts';
import { fileAddresses } from './access.ts';
import type { Context, Middleware } from './context.ts';

/**
 * Refuses a URL that is too long (414), whose path has broken percent-encoding (400), or whose query encodes bytes that are not UTF-8 (400):
 * they would be read as replacement characters. Decodes `%3A`, because clients may encode the colon of `graph:StateSchema`, and takes the
 * secret out of the address of a file.
 */
export const readablePath: Middleware = (ctx, next) => {
  if (ctx.url.length > sizes.url) {
    const message = `the path and query are longer than ${String(sizes.url)} bytes`;
    writeRefusal(ctx, { status: 414, code: 'TooLarge', message });
    return;
  }
  const { path, querystring } = ctx;
  if (querystring.includes('%') && !decodes(querystring.replaceAll(loosePercent, '%25')))
    throw new ServiceError('BadRequest', 'the query has percent-encoded bytes that are not UTF-8');
  if (path.includes('%')) {
    if (!decodes(path)) throw new ServiceError('BadRequest', 'the path has broken percent-encoding');
    ctx.path = path.replaceAll(/%3a/gi, ':');
  }
  hideToken(ctx);
  return next();
};

/** Takes the secret part of a file's address out of the path, so that no later log line or message contains it. */
function hideToken(ctx: Context): void {
  if (!ctx.path.startsWith(fileAddresses)) return;
  ctx.state.fileToken = ctx.path.slice(fileAddresses.length);
  ctx.path = fileAddresses;
}

/** A percent sign that encodes nothing. In a query it stands for itself, as in `search=50%`. */
const loosePercent = /%(?![0-9a-f]{2})/gi;

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
