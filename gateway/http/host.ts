import { ServiceError } from '@agent-workflow/kit/errors';
import type { Context, Middleware } from './context.ts';

/** Refuses a request that names two hosts, one of HTTP/1.1 without `Host` (RFC 9112 §3.2), and a whole address whose host is empty or beside a name of a user. */
export const oneHost: Middleware = ({ req, originalUrl }, next) => {
  const hosts = req.headersDistinct['host'] ?? [];
  if (hosts.length > 1) throw new ServiceError('BadRequest', 'the header Host stands there more than once');
  if (hosts.length === 0 && req.httpVersion !== '1.0')
    throw new ServiceError('BadRequest', 'the header Host is missing');
  const named = addressed(originalUrl);
  if (named === '' || named?.includes('@'))
    throw new ServiceError('BadRequest', 'the address of the request names no host, or a user beside it');
  return next() as Promise<unknown>;
};

/** The host of a request target that is a whole address, as one for a proxy is. */
const authority = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i;

const addressed = (target: string): string | undefined => authority.exec(target)?.[1];

/** The host that a request is for: that of a target which is a whole address, whatever `Host` says (RFC 9112 §3.2.2), else `Host`. */
export function hostOf({ originalUrl, req }: Pick<Context, 'originalUrl' | 'req'>): string {
  return addressed(originalUrl) ?? req.headers.host ?? '';
}
