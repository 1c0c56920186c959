import type { Context } from '../http/context.ts';

/** RFC 6750: the scheme in any case, spaces, and a token of these characters. */
const bearer = /^bearer +([\w.~+/-]+=*)$/i;

/**
 * The token of the `Authorization` header; `undefined` without one. Two such headers count as none: a proxy in front may have
 * read the other one.
 */
export function bearerOf({ req }: Pick<Context, 'req'>): string | undefined {
  const headers = req.headersDistinct['authorization'];
  return headers?.length === 1 ? bearer.exec(headers[0] ?? '')?.[1] : undefined;
}
