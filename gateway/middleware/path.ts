import { ServiceError } from '@agent-workflow/kit/errors';
import type { Middleware } from './context.ts';

/**
 * Refuses a path whose percent-encoding is broken, and reads an encoded colon as one: clients that encode the colon of
 * `graph:StateSchema` are right to.
 */
export const decodablePath: Middleware = (ctx, next) => {
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
