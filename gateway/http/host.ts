import { ServiceError } from '@agent-workflow/kit/errors';
import type { Context, Middleware } from './context.ts';

/** Refuses a request that names two hosts, and one of HTTP/1.1 that names none (RFC 9112 §3.2). */
export const oneHost: Middleware = ({ req }, next) => {
  const hosts = req.headersDistinct['host'] ?? [];
  if (hosts.length > 1) throw new ServiceError('BadRequest', 'the header Host stands there more than once');
  if (hosts.length === 0 && req.httpVersion !== '1.0')
    throw new ServiceError('BadRequest', 'the header Host is missing');
  return next() as Promise<unknown>;
};

/** The host of a request target that is a whole address, as one for a proxy is. */
const authority = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i;

/** The host that a request is for: that of a target which is a whole address, whatever `Host` says (RFC 9112 §3.2.2), else `Host`. */
export function hostOf({ originalUrl, req }: Pick<Context, 'originalUrl' | 'req'>): string {
  const named = authority.exec(originalUrl)?.[1];
  return named === undefined ? (req.headers.host ?? '') : named.slice(named.lastIndexOf('@') + 1);
}
