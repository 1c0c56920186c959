import type { EventKind } from '@agent-workflow/protos/event-parts';
import { isOfEvents, openPaths } from '../../../http/access.ts';
import { accessOf, takesIdempotencyKey, type Route } from '../../../http/endpoint.ts';
import { withNulls } from '../../../http/nulls.ts';
import { propertiesOf, takesQuery } from '../../../http/query.ts';
import { keyPattern } from '../../../idempotency/index.ts';
import { ResponseMetadata } from '../schemas/common.ts';
import type { DescribedRow } from '../schemas/described.ts';
import { errorCodes } from '../schemas/errors.ts';
import { eventForms, eventMeanings } from '../schemas/events.ts';
import { hoist, requiredOf, titlesIn, type Components, type Json } from './components.ts';
import { ndjson } from './ndjson.ts';
import { headersOf, ofFiles, refusalsOf, sharedReplies } from './refusals.ts';
import { sse } from './sse.ts';

/** What the OpenAPI document says before its operations. */
const introduction = `Runs an agent workflow durably and keeps the threads, messages, runs and memories around it.

**Replies.** A success is \`{data, metadata}\`. A refusal is \`{error: {code, message, details}, metadata}\`; \`code\` is stable, and
\`x-error-codes\` of this document says when each comes. Times are ISO 8601 in UTC.

**Requests.** Bodies are JSON objects in UTF-8, at most 4 MiB (\`MAX_BODY_BYTES\`), except files, which are uploaded as forms. Fields that are not listed are ignored, query parameters that are not listed are refused. \`null\` for
an optional field counts as its absence. Objects in a query (\`config\`, \`options\`) are URL-encoded JSON.

**Headers of requests.** \`Authorization: Bearer …\` where callers must authenticate. \`X-Request-Id\` names the request in replies and logs
when it is 1 to 128 visible ASCII characters. \`traceparent\` continues a trace. \`Idempotency-Key\` makes a change safe to repeat.

**Streams.** \`x-events\` of this document describes each kind of event.

**Permissions.** \`x-access\` of an operation is what the authorization backend is asked, as \`resource:action\`.`;

/** What the operations of each tag are about, in the order in which they are shown. */
const tags: Readonly<Record<string, string>> = {
  graph: 'The agent: what it is made of, and runs of it',
  assistants: 'Agents with stored configurations, and their versions',
  runs: 'Runs on record: follow, wait for, stop them',
  triggers: 'Addresses whose signed events start runs',
  schedules: 'Runs that start by themselves: by a cron expression, at an interval, once',
  threads: 'Conversations with their state and checkpoints',
  questions: 'What runs of others ask callers with a role',
  messages: 'The messages of a thread',
  shares: 'Threads that their owners share, and what recipients do there',
  memories: 'What is remembered across threads',
  files: 'What callers upload, for messages to name: images, sounds, documents',
  webhooks: 'Addresses that are told how runs end',
  admin: 'What operators see and do with what belongs to others',
  health: 'Whether the service answers, and this document',
};

/** The OpenAPI 3.1 document of the endpoints and their aliases. `secured`: callers must authenticate. */
export function toOpenApi(endpoints: readonly DescribedRow[], { secured }: { readonly secured: boolean }): Json {
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
    info: { title: 'Agent Workflow Service', version: '1', description: introduction, license },
    servers: [{ url: '/', description: 'The gateway that gives this document' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    'x-error-codes': errorCodes,
    'x-events': eventsText(),
    components: {
      ...sharedReplies(components),
      schemas: components,
      ...(secured && { securitySchemes }),
    },
    security: secured ? [{ bearer: [] }] : [],
  };
}

const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };

/** What each kind of event means, the form of its `data`, and a `data` of it. */
const eventsText = (): Json =>
  Object.fromEntries(
    Object.entries(eventForms).map(([kind, { data, example }]) => [
      kind,
      { description: eventMeanings[kind as EventKind], data, example },
    ]),
  );

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'The token of the caller' },
  ticket: {
    type: 'apiKey',
    in: 'query',
    name: 'ticket',
    description: 'What `POST /v1/runs/{run_id}/ticket` gave, for callers that can send no headers',
  },
};

/** The `security` of operations that need no authentication or accept a ticket; the others have that of the document. */
function securityOf({ takesTicket }: DescribedRow, { path }: Route): Json {
  if (openPaths.has(path) || isOfEvents(path)) return { security: [] };
  return takesTicket ? { security: [{ bearer: [] }, { ticket: [] }] } : {};
}

interface OperationOptions {
  readonly row: DescribedRow;
  readonly route: Route;
  readonly id: string;
  readonly components: Components;
  /** The titles of schemas in replies. */
  readonly answered: ReadonlySet<string>;
}

function operation({ row, route, id, components, answered }: OperationOptions): Json {
  const access = accessOf(row);
  const parameters = [
    ...pathParameters(row, components),
    ...(takesQuery(route.method) ? queryParameters(row, components) : []),
    ...(row.takesTicket ? [ticketParameter] : []),
    ...(row.takesLastEventId ? [lastEventIdParameter] : []),
    ...(row.answer === 'content' ? partParameters : []),
    ...(takesIdempotencyKey(row) ? [idempotencyKeyParameter] : []),
  ];
  return {
    operationId: id,
    summary: row.summary,
    description: row.description,
    tags: [row.tag],
    ...(access && { 'x-access': `${access.resource}:${access.action}` }),
    ...(parameters.length > 0 && { parameters }),
    ...(row.input &&
      route.method !== 'GET' && {
        requestBody: requestBody(withNulls(row.input, answered), { row, route, components }),
      }),
    ...(row.takesFile && { requestBody: formBody(row) }),
    ...(row.takesBytes !== undefined && { requestBody: bytesBody(row) }),
    responses: {
      [row.status]: {
        description: successText(row),
        headers: headersOf(row.answer === 'content' ? ofFiles : []),
        content: successContent(row, components),
      },
      ...(row.answer === 'content' && partialReplies(row)),
      ...refusalsOf(row, route),
    },
  };
}

const bytesBody = ({ example }: DescribedRow): Json => ({
  required: true,
  description: 'What is signed, as the sender sends it: JSON, a form, or any text',
  content: { 'application/json': { schema: { description: 'The event' }, example: example.body } },
});

const pathParameters = ({ params, example }: DescribedRow, components: Components): Json[] =>
  Object.entries(params ? propertiesOf(params) : {}).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    ...described(hoist(schema, components)),
    ...exampleOf(example.params, name),
  }));

const queryParameters = ({ input, example }: DescribedRow, components: Components): Json[] =>
  Object.entries(input ? propertiesOf(input) : {}).map(([name, schema]) => {
    const { description, schema: hoisted } = described(hoist(schema, components));
    const given = exampleOf(example.query, name);
    const type = 'type' in schema ? schema.type : undefined;
    return {
      ...{ name, in: 'query', description },
      // A list stands in one parameter, with commas between its words.
      ...(type === 'array' && { style: 'form', explode: false }),
      ...(type === 'object'
        ? { content: { 'application/json': { schema: hoisted, ...given } } }
        : { schema: hoisted, ...given }),
    };
  });

/** The description of a schema is that of its parameter. */
function described({ description, ...schema }: Json): { readonly description: unknown; readonly schema: Json } {
  return { description, schema };
}

const exampleOf = (given: Readonly<Record<string, unknown>> | undefined, name: string): Json =>
  given?.[name] === undefined ? {} : { example: given[name] };

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

/** What asks for a part of a file, or for bytes that the caller does not have. */
const partParameters: readonly Json[] = Object.entries({
  Range:
    'The part that is asked for: `bytes=100-199`, `bytes=100-` or `bytes=-100`. Several parts, and what is no valid range, are answered with the whole file',
  'If-Range': 'An `ETag`: the part is given of these bytes alone, else the whole file',
  'If-None-Match': 'One `ETag` or several that the caller has: 304 for these bytes',
}).map(([name, description]) => ({ name, in: 'header', description, schema: { type: 'string' } }));

const idempotencyKeyParameter: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A text of your choice for one intended change. The same request with the same key within 24 hours is done once and gets the same reply, also after a lost connection; the key with another body is 422. A run that was accepted belongs to its key, also when it failed: a new run needs a new key',
  schema: { type: 'string', pattern: keyPattern.source },
};

const requestBody = (
  input: object,
  { row: { example }, route: { method }, components }: Pick<OperationOptions, 'row' | 'route' | 'components'>,
): Json => ({
  description: method === 'DELETE' ? 'Optional; the query may hold the same' : 'A JSON object',
  required: method !== 'DELETE' && requiredOf(input) !== undefined,
  // The body of an alias of a GET holds what the query of the GET does.
  content: { 'application/json': { schema: hoist(input, components), example: example.body ?? example.query ?? {} } },
});

/** A form with one file. */
const formBody = ({ example }: DescribedRow): Json => {
  const file = { type: 'string', format: 'binary', description: 'The file, with its name and its content type' };
  const schema = { type: 'object', required: ['file'], additionalProperties: false, properties: { file } };
  return {
    description: 'A form with one file and nothing beside it',
    required: true,
    content: { 'multipart/form-data': { schema, example: example.body ?? {} } },
  };
};

function successText({ answer, status }: DescribedRow): string {
  if (answer === 'events') return eventsFraming;
  return status === 202 ? 'Accepted' : 'Success';
}

const eventsFraming =
  'The chunks of the run, one after the other. As `text/event-stream` each is an event whose `data` is the chunk as one line of JSON, with `id: {run_id}:{seq}` for `Last-Event-ID`, the kind of the chunk as `event`, and comment lines while the stream is idle. As `application/x-ndjson` each is one line';

/** The type of the file itself is in its reply. Generators of clients know no type but this for bytes of any kind. */
const anyBytes = 'application/octet-stream';

/** What a request for the bytes of a file is answered beside 200, when its headers ask for it. */
const partialReplies = ({ reply, example }: DescribedRow): Json => ({
  206: {
    description: 'The part that `Range` names',
    headers: headersOf([...ofFiles, 'Content-Range']),
    content: { [anyBytes]: { schema: hoist(reply, {}), example: example.reply } },
  },
  304: { description: 'The caller has these bytes: `If-None-Match` names their `ETag`', headers: headersOf(ofFiles) },
});

function successContent({ answer, reply, example }: DescribedRow, components: Components): Json {
  const schema = hoist(reply, components);
  if (answer === 'content') return { [anyBytes]: { schema, example: example.reply } };
  if (answer === 'bare') return { 'application/json': { schema, example: example.reply } };
  // Generators make types of the chunk in either framing from a schema alone: that of a frame would hide it in a text.
  if (answer === 'events') {
    const content = { schema, example: example.reply };
    return { [mediaType(sse.type)]: content, [mediaType(ndjson.type)]: content };
  }
  const metadata = { ...hoist(ResponseMetadata, components), description: 'About this reply' };
  const data = { description: 'The reply', ...schema };
  return {
    'application/json': {
      schema: { type: 'object', required: ['data', 'metadata'], properties: { data, metadata } },
      example: { data: example.reply, metadata: exampleMetadata },
    },
  };
}

const exampleMetadata = {
  message: 'OK',
  request_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f20',
  timestamp: '2026-02-05T12:00:00.000Z',
};

const mediaType = (contentType: string): string => contentType.split(';', 1)[0] ?? contentType;
