import { openPaths } from '../http/access.ts';
import { withNulls } from '../http/nulls.ts';
import { propertiesOf } from '../http/query.ts';
import { ErrorBody, ResponseMetadata } from '../schemas/common.ts';
import { accessOf, takesIdempotencyKey, type Route, type Row } from '../http/endpoint.ts';
import { keyPattern } from '../idempotency/index.ts';
import { hoist, requiredOf, titlesIn, type Components, type Json } from './components.ts';
import { ndjson } from './ndjson.ts';
import { sse } from './sse.ts';

/** The OpenAPI 3.1 document of the endpoints and their aliases. `secured`: callers must authenticate. */
export function toOpenApi(endpoints: readonly Row[], { secured }: { readonly secured: boolean }): Json {
  const components: Components = {};
  const paths: Record<string, Record<string, Json>> = {};
  const answered = new Set(endpoints.flatMap(({ reply }) => [...titlesIn(reply)]));
  for (const row of endpoints) {
    for (const [index, route] of [row, ...row.aliases].entries()) {
      const id = index === 0 ? row.name : `${row.name}Alias${index === 1 ? '' : String(index)}`;
      (paths[route.path] ??= {})[route.method.toLowerCase()] = {
        ...operation({ row, route, id, components, answered }),
        ...(secured && securityOf(row, route)),
      };
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Agent Workflow Service',
      version: '1',
      description: 'Runs an agent workflow and keeps the data around it.',
    },
    paths,
    components: {
      schemas: components,
      ...(secured && { securitySchemes }),
    },
    ...(secured && { security: [{ bearer: [] }] }),
  };
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer' },
  ticket: {
    type: 'apiKey',
    in: 'query',
    name: 'ticket',
    description: 'What `POST /v1/runs/{run_id}/ticket` gave, for callers that can send no headers',
  },
};

/** The `security` of operations that need no authentication or accept a ticket; the others have that of the document. */
function securityOf({ takesTicket }: Row, { path }: Route): Json {
  if (openPaths.has(path)) return { security: [] };
  return takesTicket ? { security: [{ bearer: [] }, { ticket: [] }] } : {};
}

interface OperationOptions {
  readonly row: Row;
  readonly route: Route;
  readonly id: string;
  readonly components: Components;
  /** The titles of schemas in replies. */
  readonly answered: ReadonlySet<string>;
}

function operation({ row, route, id, components, answered }: OperationOptions): Json {
  const parameters = [
    ...pathParameters(row, components),
    ...(takesQuery(route) ? queryParameters(row, components) : []),
    ...(row.takesTicket ? [ticketParameter] : []),
    ...(row.takesLastEventId ? [lastEventIdParameter] : []),
    ...(takesIdempotencyKey(row) ? [idempotencyKeyParameter] : []),
  ];
  return {
    operationId: id,
    summary: row.summary,
    tags: [row.tag],
    ...(parameters.length > 0 && { parameters }),
    ...(row.input &&
      route.method !== 'GET' && { requestBody: requestBody(withNulls(row.input, answered), route, components) }),
    responses: {
      [row.status]: { description: 'Success', content: successContent(row, components) },
      ...Object.fromEntries(refusalsOf(row, route).map((status) => [status, refusal(status, components)])),
    },
  };
}

const takesQuery = ({ method }: Route): boolean => method === 'GET' || method === 'DELETE';

const pathParameters = ({ params }: Row, components: Components): Json[] =>
  Object.entries(params ? propertiesOf(params) : {}).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    schema: hoist(schema, components),
  }));

const queryParameters = ({ input }: Row, components: Components): Json[] =>
  Object.entries(input ? propertiesOf(input) : {}).map(([name, schema]) => {
    const hoisted = hoist(schema, components);
    const isObject = 'type' in schema && schema.type === 'object';
    return {
      name,
      in: 'query',
      ...(isObject ? { content: { 'application/json': { schema: hoisted } } } : { schema: hoisted }),
    };
  });

/** Not part of the row's input, because it authenticates the caller. */
const ticketParameter: Json = {
  name: 'ticket',
  in: 'query',
  description: 'A ticket for this run, in place of credentials; not looked at beside an `Authorization` header',
  schema: { type: 'string' },
};

const lastEventIdParameter: Json = {
  name: 'Last-Event-ID',
  in: 'header',
  description:
    'The id of the last event that was seen, `{run_id}:{seq}`: the stream begins with the event after it. It counts over `after`',
  schema: { type: 'string' },
};

const idempotencyKeyParameter: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A text of your choice for one intended change. The same request with the same key within 24 hours is done once and gets the same reply, also after a lost connection; the key with another body is 422',
  schema: { type: 'string', pattern: keyPattern.source },
};

const requestBody = (input: object, { method }: Route, components: Components): Json => ({
  required: method !== 'DELETE' && requiredOf(input) !== undefined,
  content: { 'application/json': { schema: hoist(input, components) } },
});

function successContent({ answer, reply }: Row, components: Components): Json {
  const schema = hoist(reply, components);
  if (answer === 'bare') return { 'application/json': { schema } };
  if (answer === 'events') {
    return { [mediaType(sse.type)]: { schema: sseEvent(schema) }, [mediaType(ndjson.type)]: { schema } };
  }
  const metadata = hoist(ResponseMetadata, components);
  return {
    'application/json': {
      schema: { type: 'object', required: ['data', 'metadata'], properties: { data: schema, metadata } },
    },
  };
}

/** One server-sent event, whose `data` is a chunk on one line. */
const sseEvent = (chunk: Json): Json => ({
  type: 'object',
  required: ['id', 'event', 'data'],
  properties: {
    id: { type: 'string', description: '`{run_id}:{seq}`' },
    event: { type: 'string' },
    data: { type: 'string', contentMediaType: 'application/json', contentSchema: chunk },
  },
});

const mediaType = (contentType: string): string => contentType.split(';', 1)[0] ?? contentType;

const descriptions: Readonly<Record<number, string>> = {
  400: 'The request makes no sense',
  401: 'Authentication failed',
  403: 'Permission denied',
  404: 'Not found',
  409: 'Conflict with another write or run',
  413: 'The body is too large',
  414: 'The path and query are too long',
  415: 'The body is not JSON in UTF-8 by its content type',
  422: 'A field has the wrong type, range or value',
  429: 'Too many requests, failed authentications or streams; `Retry-After` says when to come back',
  431: 'The request line and headers are too large',
  500: 'Failed on our side',
  503: 'Something needed is away',
  504: 'The deadline passed',
};

/** The statuses that a route can refuse with. */
function refusalsOf(row: Row, { method }: Route): number[] {
  const { path, params, input } = row;
  const access = accessOf(row);
  const takesBody = input !== undefined && method !== 'GET';
  return [
    400,
    ...(openPaths.has(path) ? [] : [401]),
    ...(access ? [403] : []),
    // A graph or a thread can be missing, also where only the body names it.
    ...(params !== undefined || access?.resource === 'graph' || access?.resource === 'checkpointer' ? [404] : []),
    ...(access && method !== 'GET' ? [409] : []),
    ...(takesBody ? [413, 415] : []),
    414,
    ...((params ?? input) ? [422] : []),
    ...(openPaths.has(path) ? [] : [429]),
    431,
    500,
    503,
    504,
  ];
}

const refusal = (status: number, components: Components): Json => ({
  description: descriptions[status] ?? '',
  content: { 'application/json': { schema: hoist(ErrorBody, components) } },
});
