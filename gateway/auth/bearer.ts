import type { Context } from '../http/context.ts';

/** The form of RFC 6750: the scheme in any case, spaces, then a token of these characters and nothing more. */
const bearer = /^bearer +([\w.~+/-]+=*)$/i;

/**
 * The token of the `Authorization` header. A request with two such headers carries none: what stands before the service
 * may have read the other one.
 */
export function bearerOf({ req }: Pick<Context, 'req'>): string | undefined {
  const headers = req.headersDistinct['authorization'];
  return headers?.length === 1 ? bearer.exec(headers[0] ?? '')?.[1] : undefined;
}
