import { ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { fileAddresses } from './access.ts';
import type { Context, Middleware } from './context.ts';
import { writeRefusal } from './reply.ts';

/** Refuses a request that names two hosts, one of HTTP/1.1 without `Host` (RFC 9112 §3.2), and a whole address whose host is empty or beside a name of a user. */
export const oneHost: Middleware = ({ req, originalUrl }, next) => {
  const hosts = countHosts(req.rawHeaders);
  if (hosts > 1) throw new ServiceError('BadRequest', 'the header Host stands there more than once');
  if (hosts === 0 && req.httpVersion !== '1.0') throw new ServiceError('BadRequest', 'the header Host is missing');
  const named = addressed(originalUrl);
  if (named === '' || named?.includes('@'))
    throw new ServiceError('BadRequest', 'the address of the request names no host, or a user beside it');
  return next() as Promise<unknown>;
};

/** How often the header stands among names and values in turn. */
function countHosts(headers: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < headers.length; index += 2)
    if (headers[index]?.length === 'host'.length && headers[index]?.toLowerCase() === 'host') count += 1;
  return count;
}

/** The host of a request target that is a whole address, as one for a proxy is. */
const authority = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i;

const addressed = (target: string): string | undefined =>
  target.startsWith('/') ? undefined : authority.exec(target)?.[1];

/** The host that a request is for: that of a target which is a whole address, whatever `Host` says (RFC 9112 §3.2.2), else `Host`. */
export function hostOf({ originalUrl, req }: Pick<Context, 'originalUrl' | 'req'>): string {
  return addressed(originalUrl) ?? req.headers.host ?? '';
}

/** How callers reach the gateway. */
export interface Reached {
  /** Trusted proxies in front. */
  readonly proxyHops: number;
  /** The address that the operator has given it, without a slash at its end; `undefined`: that of each request. */
  readonly publicUrl: string | undefined;
}

/**
 * Where callers reach the gateway: scheme and host, and a path where a proxy takes one away. Unless the operator has said it, it is what the request says,
 * with the scheme of a trusted proxy.
 */
export function originOf(
  ctx: Pick<Context, 'originalUrl' | 'req' | 'secure'>,
  { proxyHops, publicUrl }: Reached,
): string {
  if (publicUrl !== undefined) return publicUrl;
  const isForwarded = proxyHops > 0 && ctx.req.headers['x-forwarded-proto'] === 'https';
  return `${isForwarded || ctx.secure ? 'https' : 'http'}://${hostOf(ctx)}`;
}

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
