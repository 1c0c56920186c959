import { openPaths } from '../../../http/access.ts';
import { accessOf, type Route } from '../../../http/endpoint.ts';
import type { DescribedRow } from '../schemas/described.ts';
import { ErrorBody, errorCodes, type WireCode } from '../schemas/errors.ts';
import { hoist, type Components, type Json } from './components.ts';

/** A status with which requests are refused. */
interface Refusal {
  /** In the OpenAPI document. */
  readonly name: string;
  readonly description: string;
  readonly codes: readonly WireCode[];
  /** A `message` of the error envelope. */
  readonly message: string;
  /** Headers beside those of every reply. */
  readonly headers?: readonly (keyof typeof headers)[];
}

const refusals = {
  400: {
    name: 'BadRequest',
    description: 'The request makes no sense',
    codes: ['BAD_REQUEST'],
    message: 'the body is not JSON',
  },
  401: {
    name: 'Unauthenticated',
    description: 'Authentication failed',
    codes: ['AUTHENTICATION_FAILED'],
    message: 'authentication failed',
    headers: ['WWW-Authenticate'],
  },
  403: {
    name: 'PermissionDenied',
    description: 'Permission denied',
    codes: ['PERMISSION_DENIED'],
    message: 'write on checkpointer is not allowed',
  },
  404: {
    name: 'NotFound',
    description: 'Not found among what the caller owns',
    codes: ['RESOURCE_NOT_FOUND'],
    message: 'there is no thread "support-42"',
  },
  408: {
    name: 'TooSlow',
    description: 'The body arrived too slowly; the connection is closed',
    codes: ['TIMEOUT'],
    message: 'the body arrived too slowly: less than 1024 bytes a second over 30 s',
  },
  409: {
    name: 'Conflict',
    description: 'Conflict with another write or run',
    codes: ['CONFLICT'],
    message: 'the thread has a run under way',
  },
  413: {
    name: 'TooLarge',
    description: 'The body is too large, or the caller has no room for another file',
    codes: ['PAYLOAD_TOO_LARGE'],
    message: 'the body is larger than 4194304 bytes',
  },
  414: {
    name: 'UrlTooLong',
    description: 'The path and query are too long',
    codes: ['PAYLOAD_TOO_LARGE'],
    message: 'the path and query are longer than 8192 bytes',
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The body is not of the content type that is taken: JSON in UTF-8, or a form with a file',
    codes: ['UNSUPPORTED_MEDIA_TYPE'],
    message: 'the body must be application/json',
  },
  416: {
    name: 'RangeNotSatisfiable',
    description: 'The part that `Range` names lies outside of the file; `Content-Range` has its size',
    codes: ['RANGE_NOT_SATISFIABLE'],
    message: 'the range lies outside of the file, which has 5 bytes',
    headers: ['Content-Range'],
  },
  422: {
    name: 'Invalid',
    description: 'A field has the wrong type, range or value',
    codes: ['VALIDATION_ERROR'],
    message: 'body.messages.0.role is required',
  },
  429: {
    name: 'RateLimited',
    description: 'Too many requests, failed authentications or streams; `Retry-After` says when to come back',
    codes: ['RATE_LIMITED'],
    message: 'too many requests',
    headers: ['Retry-After'],
  },
  431: {
    name: 'HeadersTooLarge',
    description: 'The request line and headers are too large',
    codes: ['PAYLOAD_TOO_LARGE'],
    message: 'the request line and headers are too large',
  },
  500: {
    name: 'Failed',
    description: 'Failed on our side, or in a node of the agent',
    codes: ['INTERNAL_ERROR', 'NODE_ERROR', 'GRAPH_ERROR', 'STORAGE_ERROR'],
    message: 'the node "agent" failed',
  },
  503: {
    name: 'Unavailable',
    description: 'Something needed is unavailable or full; `Retry-After` says when to come back',
    codes: ['SERVICE_UNAVAILABLE'],
    message: 'the record is not available',
    headers: ['Retry-After'],
  },
  504: {
    name: 'Timeout',
    description:
      'The deadline passed; a run that was started goes on. `Retry-After` says when to come back where something needed did not answer',
    codes: ['TIMEOUT'],
    message: 'the run did not end within 300000 ms and goes on',
    headers: ['Retry-After'],
  },
} satisfies Readonly<Record<number, Refusal>>;

type RefusalStatus = keyof typeof refusals;

/** Headers of replies that callers read. */
const headers = {
  'X-Request-Id': {
    description: "The id of the request: the caller's own when it is 1 to 128 visible ASCII characters, else a new one",
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'After how many seconds the request may be repeated',
    schema: { type: 'integer', minimum: 0 },
  },
  'WWW-Authenticate': {
    description: '`Bearer`, with `error="invalid_token"` when credentials were sent and refused',
    schema: { type: 'string' },
  },
  'RateLimit-Limit': {
    description: 'How many requests the caller may make in a window; absent while there is no limit',
    schema: { type: 'integer', minimum: 0 },
  },
  'RateLimit-Remaining': {
    description: 'How many requests the caller may make now; absent while there is no limit',
    schema: { type: 'integer', minimum: 0 },
  },
  'RateLimit-Reset': {
    description: 'After how many seconds the whole limit is free again; absent while there is no limit',
    schema: { type: 'integer', minimum: 0 },
  },
  ETag: { description: 'The SHA-256 of the whole file, in quotes', schema: { type: 'string' } },
  'Accept-Ranges': { description: '`bytes`: a part may be asked for', schema: { type: 'string' } },
  'Content-Range': {
    description: 'Which bytes the reply has, and of how many: `bytes 0-4/22`; `bytes */22` in a 416',
    schema: { type: 'string' },
  },
  'Content-Disposition': {
    description: '`inline` for images, sound and films, else `attachment`, with the name of the file',
    schema: { type: 'string' },
  },
} as const;

/** The headers of a file and of a part of it. */
export const ofFiles = ['ETag', 'Accept-Ranges', 'Content-Disposition'] as const;

const ofEveryReply = ['X-Request-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const;

/** The headers of a reply, as references: those of every reply, and `more`. */
export const headersOf = (more: readonly (keyof typeof headers)[] = []): Json =>
  Object.fromEntries([...ofEveryReply, ...more].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The shared parts of refusals: one response for each status, and the headers. */
export const sharedReplies = (components: Components): Json => ({
  responses: Object.fromEntries(
    Object.values<Refusal>(refusals).map((refusal) => [refusal.name, toResponse(refusal, components)]),
  ),
  headers,
});

function toResponse({ description, codes, message, headers: more }: Refusal, components: Components): Json {
  const list = codes.map((code) => `- \`${code}\`: ${errorCodes[code]}`);
  const [code] = codes;
  const error = { code, message, details: [] };
  const metadata = {
    message,
    request_id: '019c2f6e-a000-7a10-8000-3b5c9d1e7f30',
    timestamp: '2026-02-05T12:00:00.000Z',
  };
  return {
    description: [description, '', ...list].join('\n'),
    headers: headersOf(more),
    content: { 'application/json': { schema: hoist(ErrorBody, components), example: { error, metadata } } },
  };
}

/** The refusals of a route, by status, as references. */
export const refusalsOf = (row: DescribedRow, route: Route): Json =>
  Object.fromEntries(
    statusesOf(row, route).map((status) => [status, { $ref: `#/components/responses/${refusals[status].name}` }]),
  );

const missable: ReadonlySet<string> = new Set(['checkpointer', 'graph', 'store']);

function statusesOf(row: DescribedRow, { method }: Route): RefusalStatus[] {
  const { path, params, input, takesFile, answer } = row;
  const access = accessOf(row);
  const takesBody = takesFile === true || (input !== undefined && method !== 'GET');
  return [
    400,
    ...(openPaths.has(path) ? [] : ([401] as const)),
    ...(access ? ([403] as const) : []),
    // A graph, a thread or a scope can be missing, also where only the body or the query names it.
    ...(params !== undefined || missable.has(access?.resource ?? '') ? ([404] as const) : []),
    ...(takesBody ? ([408] as const) : []),
    ...(access && method !== 'GET' ? ([409] as const) : []),
    ...(takesBody ? ([413, 415] as const) : []),
    414,
    ...(answer === 'content' ? ([416] as const) : []),
    ...(takesFile || (params ?? input) ? ([422] as const) : []),
    ...(openPaths.has(path) ? [] : ([429] as const)),
    431,
    500,
    503,
    504,
  ];
}
