import type { Method, Route, Row } from '../http/endpoint.ts';
import { notFound } from '@agent-workflow/kit/errors';
import type { Context } from '../http/context.ts';
import type { Dialect } from '../http/dialect.ts';
import { nullRemover } from '../http/nulls.ts';
import { propertiesOf, readQuery, refuseUnknown, takesQuery } from '../http/query.ts';
import { validator, type Source } from '../http/validator.ts';

const fromPath = (): Source => 'path';
const fromQuery = (): Source => 'query';
const fromBody = (): Source => 'body';

/** Refuses query parameters that the row does not name. Outside of the dialect's `prefix` they are let be: probes and browsers add some. */
export function queryChecker(
  { input, takesTicket }: Row,
  { method, path }: Route,
  prefix: string,
): (ctx: Context) => void {
  if (!path.startsWith(`${prefix}/`)) return () => undefined;
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
      if (ctx.state.dialect.readId) ctx.state.params = readIds(ctx, ctx.state.dialect.readId);
    }
    if (input && checkInput) {
      ctx.state.input = inputOf(ctx, method, input);
      removeNulls?.(ctx.state.input);
      checkInput(ctx.state.input, sourceFor(ctx, method));
    }
  };
}

/** Path parameters with their ids, which end with `_id`, as the services know them. @throws NotFound for what is no id */
const readIds = ({ state, path }: Context, readId: NonNullable<Dialect['readId']>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(state.params as Readonly<Record<string, string>>).map(([name, text]) => {
      const id = name.endsWith('_id') ? readId(text) : text;
      if (id === undefined) throw notFound(`there is nothing at ${path}`);
      return [name, id];
    }),
  );

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
