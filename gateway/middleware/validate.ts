import type { Method, Row } from '../http/endpoint.ts';
import type { Context, Middleware } from '../http/context.ts';
import { nullRemover } from '../http/nulls.ts';
import { readQuery } from '../http/query.ts';
import { validator, type Source } from '../http/validator.ts';

const fromPath = (): Source => 'path';
const fromQuery = (): Source => 'query';
const fromBody = (): Source => 'body';

/**
 * Checks path parameters and input against the row's schemas and leaves them, defaults filled in, for the handler. `null` for
 * a field that may be absent is its absence.
 */
export function validation({ params, input }: Row, method: Method): Middleware {
  const checkParams = params && validator(params);
  const checkInput = input && validator(input);
  const removeNulls = input && nullRemover(input);
  return (ctx, next) => {
    if (checkParams) {
      ctx.state.params = (ctx as Context & { readonly params: unknown }).params;
      checkParams(ctx.state.params, fromPath);
    }
    if (input && checkInput) {
      ctx.state.input = inputOf(ctx, method, input);
      removeNulls?.(ctx.state.input);
      checkInput(ctx.state.input, sourceFor(ctx, method));
    }
    return next();
  };
}

/** A DELETE takes its input from the query, the body, or both; the body wins. */
function inputOf(ctx: Context, method: Method, input: NonNullable<Row['input']>): Record<string, unknown> {
  if (method === 'GET') return readQuery(input, ctx.query);
  const body = ctx.state.body ?? {};
  return method === 'DELETE' ? { ...readQuery(input, ctx.query), ...body } : body;
}

function sourceFor(ctx: Context, method: Method): (field: string | undefined) => Source {
  if (method === 'GET') return fromQuery;
  if (method !== 'DELETE') return fromBody;
  const { body } = ctx.state;
  return (field) => (field !== undefined && body && Object.hasOwn(body, field) ? 'body' : 'query');
}
