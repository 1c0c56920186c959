import type { Middleware } from '../http/context.ts';
import type { Dialect } from '../http/dialect.ts';

/**
 * On the paths of a dialect that names such a header, its value becomes the bearer token of a request without `Authorization`, so that
 * all ways of authentication find it there. `undefined` where no dialect names one.
 */
export function tokenHeaders(dialects: readonly Pick<Dialect, 'tokenHeader'>[]): Middleware | undefined {
  if (dialects.every(({ tokenHeader }) => tokenHeader === undefined)) return undefined;
  return ({ req, state }, next) => {
    const { tokenHeader } = state.dialect;
    const token = tokenHeader === undefined ? undefined : req.headers[tokenHeader];
    if (typeof token === 'string' && token !== '' && req.headers.authorization === undefined) {
      const bearer = `Bearer ${token}`;
      req.headers.authorization = bearer;
      req.headersDistinct['authorization'] = [bearer];
    }
    return next() as Promise<unknown>;
  };
}
