import { notFound } from '@agent-workflow/kit/errors';
import type Router from '@koa/router';
import { invalidAt } from './fields.ts';
import { writeRefusal } from './reply.ts';
import type { Context, Middleware } from './context.ts';

/** What the router adds to the context of a request. */
interface Routed {
  readonly matched?: readonly { readonly methods: readonly string[] }[];
  readonly router: Router;
}

/** Answers requests that match no row: 405 when the path exists for other methods, 422 for an empty identifier, else 404. */
export const unmatched: Middleware = (ctx) => {
  const { matched = [], router } = ctx as Context & Routed;
  if (matched.length > 0) {
    refuseMethod(
      ctx,
      matched.flatMap(({ methods }) => methods),
    );
    return;
  }
  const empty = emptyParameter(ctx, router);
  if (empty !== undefined) throw invalidAt(['path', empty], 'must not be empty', 'string_too_short');
  throw notFound(`there is nothing at ${ctx.path}`);
};

/** Answers 405 with the methods that are allowed. */
export function refuseMethod(ctx: Context, methods: readonly string[]): void {
  const allowed = [...new Set(methods)].sort();
  ctx.set('Allow', allowed.join(', '));
  writeRefusal(ctx, {
    status: 405,
    code: 'MethodNotAllowed',
    message: `${ctx.method} is not allowed here; ${allowed.join(', ')} is`,
  });
}

/** The name of the empty path parameter, when the path would match if it were not empty. */
function emptyParameter({ path, method }: Context, router: Router): string | undefined {
  if (!path.includes('//')) return undefined;
  const steps = path.split('/');
  const filled = steps.map((step, index) => (step === '' && index > 0 ? '-' : step)).join('/');
  const pattern = router.match(filled, method).pathAndMethod[0]?.path;
  const name = typeof pattern === 'string' ? pattern.split('/')[steps.indexOf('', 1)] : undefined;
  return name?.startsWith(':') ? name.slice(1) : undefined;
}
