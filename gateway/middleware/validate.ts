import { agentNamePattern, mustBeAgentName } from '@agent-workflow/kit/agents';
import { notFound } from '@agent-workflow/kit/errors';
import { idRule } from '@agent-workflow/protos/message';
import { mustBeScope, scopePattern } from '@agent-workflow/protos/scopes';
import { webhookSecretPattern, webhookSecretRule } from '@agent-workflow/protos/webhooks';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import type { Context } from '../http/context.ts';
import type { Dialect } from '../http/dialect.ts';
import type { Method, Route, Row } from '../http/endpoint.ts';
import { invalidAt, type LocatedDetail } from '../http/fields.ts';
import { nullRemover } from '../http/nulls.ts';
import { propertiesOf, readQuery, refuseUnknown, takesQuery } from '../http/query.ts';

const ajv = new Ajv2020({
  useDefaults: true,
  // A test holds the schemas against the schema of schemas, so that no caller waits 50 ms for its compilation.
  validateSchema: false,
  allowUnionTypes: true,
  strictTypes: false,
  formats: { 'date-time': true, 'well-formed': (text: string) => text.isWellFormed() },
});

/** The part of the request that a value comes from: the first element of every `loc`. */
type Source = 'path' | 'query' | 'body';

/**
 * Makes a check of values against a schema, which also fills in defaults. The first call compiles the schema. `sourceOf` gives
 * the source of a top-level field.
 * @throws Invalid with the location of the first fault.
 */
export function validator(schema: TSchema): (value: unknown, sourceOf: (field: string | undefined) => Source) => void {
  let validate: ReturnType<typeof ajv.compile> | undefined;
  return (value, sourceOf) => {
    validate ??= ajv.compile(schema);
    if (validate(value)) return;
    const detail = detailOf(deepestError(validate.errors ?? []), sourceOf);
    throw invalidAt(detail.loc, detail.msg, detail.type);
  };
}

/** Of the errors of alternatives, the deepest one is about the alternative that the caller meant. */
const deepestError = (errors: readonly ErrorObject[]): ErrorObject | undefined =>
  errors.reduce<ErrorObject | undefined>(
    (best, error) => (best === undefined || error.instancePath.length > best.instancePath.length ? error : best),
    undefined,
  );

function detailOf(
  error: ErrorObject | undefined,
  sourceOf: (field: string | undefined) => Source,
): Omit<LocatedDetail, 'field'> {
  const steps = error ? [...pointer(error.instancePath), ...missing(error)] : [];
  const [first] = steps;
  return {
    loc: [sourceOf(typeof first === 'string' ? first : undefined), ...steps],
    msg: error ? messageOf(error) : 'is not valid',
    type: error ? typeOf(error) : 'value_error',
  };
}

/** A JSON pointer as steps, those into arrays as numbers. */
const pointer = (path: string): (string | number)[] =>
  path
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')));

const missing = ({ params }: ErrorObject): string[] =>
  typeof params['missingProperty'] === 'string' ? [params['missingProperty']] : [];

function messageOf({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
  if (keyword === 'type') return `must be ${[params['type']].flat().join(' or ')}`;
  if (keyword === 'format') return 'must be well-formed Unicode';
  if (keyword === 'pattern') return patternRules[params['pattern'] as string] ?? idRule;
  return message;
}

/** What patterns ask for. Every other one is that of ids. */
const patternRules: Readonly<Record<string, string>> = {
  [scopePattern]: mustBeScope,
  [agentNamePattern]: mustBeAgentName,
  [webhookSecretPattern]: webhookSecretRule,
};

function typeOf({ keyword, params }: ErrorObject): string {
  if (keyword === 'type') return `${[params['type']].flat().join('_or_')}_type`;
  return types[keyword] ?? keyword;
}

const types: Readonly<Record<string, string>> = {
  required: 'missing',
  minimum: 'greater_than_equal',
  maximum: 'less_than_equal',
  minItems: 'too_short',
  maxItems: 'too_long',
  minLength: 'string_too_short',
  maxLength: 'string_too_long',
  pattern: 'string_pattern_mismatch',
};

const fromPath = (): Source => 'path';
const fromQuery = (): Source => 'query';
const fromBody = (): Source => 'body';

/** Refuses query parameters that neither the row nor its dialect names. Outside of the dialect's `prefix` they are let be: probes and browsers add some. */
export function queryChecker(
  { input, takesTicket, takesQuery: takesBoth }: Row,
  { method, path }: Route,
  { prefix, everyQuery = [] }: Pick<Dialect, 'prefix' | 'everyQuery'>,
): (ctx: Context) => void {
  if (!path.startsWith(`${prefix}/`)) return () => undefined;
  const inputs = input && (takesQuery(method) || takesBoth) ? Object.keys(propertiesOf(input)) : [];
  // Where a ticket authenticated the caller it is no longer in the query.
  const known = new Set([...inputs, ...everyQuery, ...(takesTicket ? ['ticket'] : [])]);
  return (ctx) => {
    if (ctx.querystring !== '') refuseUnknown(ctx.query, known);
  };
}

/**
 * Checks path parameters and input against the row's schemas, fills in defaults, and puts both into `ctx.state` for the handler.
 * `null` for a field that may be absent is removed.
 */
export function inputChecker({ params, input, takesQuery }: Row, method: Method): (ctx: Context) => void {
  const checkParams = params && validator(params);
  const checkInput = input && validator(input);
  const removeNulls = input && nullRemover(input);
  const takesBoth = takesQuery === true;
  return (ctx) => {
    if (checkParams) {
      ctx.state.params = (ctx as Context & { readonly params: unknown }).params;
      checkParams(ctx.state.params, fromPath);
      if (ctx.state.dialect.readId) ctx.state.params = readIds(ctx, ctx.state.dialect.readId);
    }
    if (input && checkInput) {
      ctx.state.input = inputOf(ctx, { method, takesBoth }, input);
      removeNulls?.(ctx.state.input);
      checkInput(ctx.state.input, sourceFor(ctx, { method, takesBoth }));
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

/** Where the input of a row stands. */
interface Sources {
  readonly method: Method;
  /** In the query, too, whatever the method. */
  readonly takesBoth: boolean;
}

/** The input of a DELETE comes from the query, the body, or both; the body wins. */
function inputOf(
  ctx: Context,
  { method, takesBoth }: Sources,
  input: NonNullable<Row['input']>,
): Record<string, unknown> {
  if (ctx.state.called) return ctx.state.called;
  if (method === 'GET') return readQuery(input, ctx.query);
  const body = ctx.state.body ?? {};
  return method === 'DELETE' || takesBoth ? { ...readQuery(input, ctx.query), ...body } : body;
}

function sourceFor(ctx: Context, { method, takesBoth }: Sources): (field: string | undefined) => Source {
  if (ctx.state.called) return fromBody;
  if (method === 'GET') return fromQuery;
  if (method !== 'DELETE' && !takesBoth) return fromBody;
  const { body } = ctx.state;
  return (field) => (field !== undefined && body && Object.hasOwn(body, field) ? 'body' : 'query');
}
