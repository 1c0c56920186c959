import { Ajv2020 as Ajv } from 'ajv/dist/2020.js';
import test from 'ava';
import { endpoints } from '../endpoints/table.ts';
import { accessOf } from '../../../http/endpoint.ts';
import { toOpenApi } from './openapi.ts';

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: object;
  readonly 'x-access'?: string;
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
}

const document = JSON.parse(JSON.stringify(toOpenApi(endpoints, { secured: false }))) as {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
};

const routes = endpoints.flatMap((row) => [row, ...row.aliases].map(({ method, path }) => ({ row, method, path })));

test('every row of the table is in the document, with its aliases', (t) => {
  t.true(document.openapi.startsWith('3.1'));
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  t.deepEqual(described.sort(), routes.map(({ method, path }) => `${method} ${path}`).sort());
});

test('an operation names the permission that its row asks for', (t) => {
  const access = (path: string, method: string): unknown => document.paths[path]?.[method]?.['x-access'];
  t.is(access('/v1/threads', 'get'), 'checkpointer:read');
  t.is(access('/healthz', 'get'), undefined);
});

test('every reference leads to a component, and every component is used', (t) => {
  const used = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name),
  );
  t.deepEqual([...used].sort(), Object.keys(document.components.schemas).sort());
});

test('every array says what it holds, because generators leave out what has one that does not', (t) => {
  t.deepEqual([...bareArrays(document)], []);
  t.deepEqual([...bareArrays({ a: { type: ['array', 'null'] }, b: { type: 'array', items: {} } })], ['/a']);
});

function* bareArrays(value: unknown, at = ''): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value && [value.type].flat().includes('array') && !('items' in value)) yield at;
  for (const [key, part] of Object.entries(value))
    if (!['example', 'examples'].includes(key)) yield* bareArrays(part, `${at}/${key}`);
}

test('the bytes of a file come with the headers that ask for a part of them, and that say which part came', (t) => {
  const { parameters = [], responses } = document.paths['/v1/files/{file_id}']?.['get'] ?? {};
  const asked = parameters.filter((each) => each.in === 'header').map(({ name }) => name);
  t.deepEqual(asked, ['Range', 'If-Range', 'If-None-Match']);
  for (const status of ['200', '206', '304']) t.true('ETag' in (responses?.[status]?.headers ?? {}), status);
  t.true('Content-Range' in (responses?.['206']?.headers ?? {}));
});

test('operation ids are unique, and each path parameter is described', (t) => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );
  t.is(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  for (const { path, operation } of operations) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const described = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
    t.deepEqual(
      described.map(({ name }) => name),
      named,
      path,
    );
  }
});

test('the one operation that takes a ticket says so, whether callers must sign in or not', (t) => {
  const taking = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { parameters = [] }]) => parameters.some((each) => each.in === 'query' && each.name === 'ticket'))
      .map(([method]) => `${method} ${path}`),
  );
  t.deepEqual(taking, ['get /v1/runs/{run_id}/stream']);
});

/** Names each operation that describes this header. */
const takingHeader = (name: string): string[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { parameters = [] }]) => parameters.some((each) => each.in === 'header' && each.name === name))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );

test('an operation that changes something takes an Idempotency-Key, unless its reply is a secret, its body a file or it is signed', (t) => {
  const changing = routes.filter(({ row }) => row.method !== 'GET' && accessOf(row)?.action !== 'read');
  t.true(changing.length > 15);
  t.deepEqual(
    takingHeader('Idempotency-Key').sort(),
    changing
      .filter(({ row }) => !row.secret && !row.takesFile && row.takesBytes === undefined)
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
  );
  t.false(takingHeader('Idempotency-Key').includes('POST /v1/runs/{run_id}/ticket'));
});

test('the operations that continue a stream take a Last-Event-ID', (t) => {
  t.deepEqual(takingHeader('Last-Event-ID'), [
    'GET /v1/runs/{run_id}/stream',
    'GET /v1/shared/{share_id}/runs/{run_id}/stream',
    'GET /v1/admin/runs/{run_id}/stream',
  ]);
});

test('the cursor of a list in the order of changes says what its pages miss, and the others do not', (t) => {
  const withCursor = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const cursor = get?.parameters?.find(({ name }) => name === 'cursor');
    return cursor === undefined ? [] : [[path, JSON.stringify(cursor).includes('moves to the front')] as const];
  });
  t.deepEqual(Object.fromEntries(withCursor), {
    '/v1/admin/questions': false,
    '/v1/admin/runs': false,
    '/v1/admin/threads': false,
    '/v1/admin/threads/{thread_id}/messages': false,
    '/v1/admin/threads/{thread_id}/runs': false,
    '/v1/assistants': false,
    '/v1/assistants/{assistant_id}/versions': false,
    '/v1/inbox': true,
    '/v1/questions': false,
    '/v1/deliveries': false,
    '/v1/files': false,
    '/v1/runs': false,
    '/v1/schedules': false,
    '/v1/shared': false,
    '/v1/shared/{share_id}/checkpoints': false,
    '/v1/shared/{share_id}/messages': false,
    '/v1/shared/{share_id}/runs': false,
    '/v1/store/memories': true,
    '/v1/threads': true,
    '/v1/threads/{thread_id}/checkpoints': false,
    '/v1/threads/{thread_id}/messages': false,
    '/v1/threads/{thread_id}/runs': false,
    '/v1/threads/{thread_id}/shares': false,
    '/v1/triggers': false,
  });
});

test('what has a default is not asked of the caller', (t) => {
  t.false('required' in (document.components.schemas['RunRequest'] as object));
  t.deepEqual((document.components.schemas['SearchMemoryRequest'] as { required: string[] }).required, ['query']);
});

test('a schema has one type, and says what it needs in one of two places', (t) => {
  const types: unknown[] = [];
  const visit = (value: unknown, isNames = false): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!isNames && 'type' in value) types.push(value.type);
    for (const [key, part] of Object.entries(value)) if (!/^examples?$/.test(key)) visit(part, key === 'properties');
  };
  visit(document.components.schemas);
  visit(document.paths);
  t.deepEqual(
    types.filter((type) => Array.isArray(type)),
    [],
  );
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const [title, schema] of Object.entries(document.components.schemas))
    ajv.addSchema(schema, `#/components/schemas/${title}`);
  const isValid = (title: string, value: unknown): unknown =>
    ajv.validate({ $ref: `#/components/schemas/${title}` }, value);
  const message = { role: 'user', content: 'x' };
  for (const [title, value, isGood] of [
    ['StopRequest', { thread_id: 'a' }, true],
    ['StopRequest', { config: { thread_id: 7 } }, true],
    ['StopRequest', {}, false],
    ['StopRequest', { config: {} }, false],
    ['RunRequest', { messages: [message] }, true],
    ['RunRequest', { messages: [], resume: null }, true],
    ['RunRequest', { messages: [] }, false],
    ['RunRequest', { messages: [message], config: { remote_tools: [{}] } }, false],
    [
      'RunRequest',
      { messages: [message], config: { remote_tools: [{ name: 'a' }, { function: { name: 'b' } }] } },
      true,
    ],
    ['UpdateStateRequest', { config: {}, state: {}, mode: 'replace' }, false],
    ['UpdateStateRequest', { config: {}, state: {}, mode: 'replace', checkpoint_id: '1' }, true],
    ['UpdateStateRequest', { config: {}, state: {} }, true],
  ] as const)
    t.is(isValid(title, value), isGood, `${title} ${JSON.stringify(value)}`);
});

test('titles name one schema each', (t) => {
  const seen = new Map<string, string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { title, type } = value as { title?: unknown; type?: unknown };
    if (typeof title === 'string' && type !== undefined) {
      const text = JSON.stringify(value);
      t.is(seen.get(title) ?? text, text, title);
      seen.set(title, text);
    }
    Object.values(value).forEach(visit);
  };
  for (const { params, input, reply } of endpoints) [params, input, reply].forEach(visit);
  t.true(seen.size > 10);
});

test('where callers must sign in the document says how, and which paths are open all the same', (t) => {
  const secured = toOpenApi(endpoints, { secured: true }) as unknown as {
    security: unknown;
    components: { securitySchemes: unknown };
    paths: Record<string, Record<string, { security?: unknown }>>;
  };
  t.deepEqual(secured.security, [{ bearer: [] }]);
  t.like(secured.components.securitySchemes, {
    bearer: { type: 'http', scheme: 'bearer' },
    ticket: { type: 'apiKey', in: 'query', name: 'ticket' },
  });
  t.deepEqual(secured.paths['/healthz']?.['get']?.security, []);
  t.is(secured.paths['/v1/ping']?.['get']?.security, undefined);
  const { get, post } = secured.paths['/v1/runs/{run_id}/stream'] ?? {};
  t.deepEqual(get?.security, [{ bearer: [] }, { ticket: [] }]);
  t.is(post, undefined);
  t.deepEqual((document as unknown as { security: unknown }).security, [], 'nobody has to sign in');
});

test('a body may hold null for what it may lack, and for nothing else', (t) => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const { schemas } = document.components;
  for (const [title, schema] of Object.entries(schemas)) ajv.addSchema(schema, `#/components/schemas/${title}`);
  const isValid = (title: string, value: unknown) =>
    ajv.validate<unknown>({ $ref: `#/components/schemas/${title}` }, value);
  const message = { role: 'user', content: 'x' };
  t.true(isValid('RunRequest', { messages: [{ ...message, metadata: null, timestamp: null }], config: null }));
  t.true(isValid('RunRequest', { messages: [message], tools: [{ name: 'x', parameters: null }], resume: null }));
  t.true(
    isValid('RunRequest', { messages: [{ role: 'user', content: [{ type: 'reasoning', text: null, summary: 's' }] }] }),
  );
  t.false(isValid('RunRequest', { messages: [{ role: 'user', content: [{ type: 'reasoning', text: null }] }] }));
  for (const tool of [{ name: null }, { name: null, function: null }])
    t.false(isValid('RunRequest', { messages: [message], config: { remote_tools: [tool] } }), JSON.stringify(tool));
  for (const names of [{ thread_id: null }, { config: null }, { config: { thread_id: null } }])
    t.false(isValid('StopRequest', names), JSON.stringify(names));
  t.true(isValid('StopRequest', { thread_id: null, config: { thread_id: 'a' } }));
  t.false(isValid('UpdateStateRequest', { config: {}, state: {}, mode: 'replace', checkpoint_id: null }));
  t.true(isValid('UpdateStateRequest', { config: {}, state: {}, mode: 'merge', checkpoint_id: null }));
  t.false(isValid('RunRequest', { messages: [{ ...message, message_id: null, role: null }] }));
  t.false(
    isValid('Message', { ...message, content: [], message_id: 'a', timestamp: '2026-01-01T00:00:00Z', metadata: null }),
  );
});
