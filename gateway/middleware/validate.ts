import type { Method, Route, Row } from '../http/endpoint.ts';
import type { Context } from '../http/context.ts';
import { nullRemover } from '../http/nulls.ts';
import { propertiesOf, readQuery, refuseUnknown, takesQuery } from '../http/query.ts';
import { validator, type Source } from '../http/validator.ts';

const fromPath = (): Source => 'path';
const fromQuery = (): Source => 'query';
const fromBody = (): Source => 'body';

/** Refuses query parameters that the row does not name. Outside of `/v1` they are let be: probes and browsers add some. */
export function queryChecker({ input, takesTicket }: Row, { method, path }: Route): (ctx: Context) => void {
  if (!path.startsWith('/v1/')) return () => undefined;
  const inputs = input && takesQuery(method) ? Object.keys(propertiesOf(input)) : [];
  // Where a ticket authenticated the caller it is no longer in the query.
  const known = new Set([...inputs, ...(takesTicket ? ['ticket'] : [])]);
  return (ctx) => {
    if (ctx.querystring !== '') refuseUnknown(ctx.query, known);
  };
}

/**
 * Checks path parameters and input against the row's schemas, fills in defaults, and puts both into `ctx.state` for the handler.
 * `null` for a field that may be absent is removed.
 */
export function inputChecker({ params, input }: Row, method: Method): (ctx: Context) => void {
  const checkParams = params && validator(params);
  const checkInput = input && validator(input);
  const removeNulls = input && nullRemover(input);
  return (ctx) => {
    if (checkParams) {
      ctx.state.params = (ctx as Context & { readonly params: unknown }).params;
      checkParams(ctx.state.params, fromPath);
    }
    if (input && checkInput) {
      ctx.state.input = inputOf(ctx, method, input);
      removeNulls?.(ctx.state.input);
      checkInput(ctx.state.input, sourceFor(ctx, method));
    }
  };
}

/** The input of a DELETE comes from the query, the body, or both; the body wins. */
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
