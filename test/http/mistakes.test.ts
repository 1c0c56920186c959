import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import test, { type ExecutionContext } from 'ava';
import type { Reply } from '../servers/client.ts';
import { codeOf, serve } from './service.ts';

const maxBodyBytes = 64 * 1024;
const { url, send, refused } = serve(test, 'obedient', { MAX_BODY_BYTES: String(maxBodyBytes) });

const routes = endpoints.flatMap((row) =>
  [row, ...row.aliases].map(({ method, path }) => ({ row, method, path: path.replaceAll(/\{\w+\}/g, 'x') })),
);
/** Those of operators are refused before a body is read: nobody here is one. */
const withBody = routes.filter(({ row, method }) => row.input && method !== 'GET' && !row.forOperators);

/** The input of an endpoint, as JSON Schema; fields that have a default count as required there. */
interface InputObject {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, object>>;
}

const json = { 'content-type': 'application/json' };

async function raw(method: string, path: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(`${url()}${path}`, { method, ...init });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Reply['body'] };
}

/** Every mistake ends with this: the service is as it was. */
async function stillServes(t: ExecutionContext): Promise<void> {
  t.is((await send('GET', '/v1/ping')).status, 200);
}

test.afterEach(stillServes);

test('an unknown path is 404', async (t) => {
  for (const path of [
    '/',
    '/v1',
    '/v1/nothing',
    '/v2/ping',
    '/V1/ping',
    '/v1/graph/nothing',
    '/v1/threads/x/nothing',
    '/v1/graph:stateschema',
  ]) {
    await refused(t, raw('GET', path), 404, codeOf(404));
  }
});

test('a known path by another method is 405 and says which are allowed', async (t) => {
  for (const { path } of routes) {
    const allowed = new Set(routes.filter((route) => route.path === path).map(({ method }) => method as string));
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].filter((each) => !allowed.has(each))) {
      const reply = raw(method, path);
      await refused(t, reply, 405, 'METHOD_NOT_ALLOWED');
      const named = (await reply).headers.get('allow')?.split(', ') ?? [];
      for (const each of allowed) t.true(named.includes(each), `${method} ${path}: ${named.join()}`);
    }
  }
});

test('methods that nobody uses are refused too', async (t) => {
  for (const method of ['TRACE', 'PROPFIND', 'QUERY', 'NONSENSE', 'get']) {
    const socket = connect(Number(new URL(url()).port), '127.0.0.1');
    socket.end(`${method} /v1/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    t.regex(await text(socket), /^HTTP\/1\.1 40[05] [^]*"code":"(METHOD_NOT_ALLOWED|BAD_REQUEST)"/, method);
  }
});

test('a body that is not a JSON object is 400 on every route that takes one', async (t) => {
  for (const { method, path } of withBody) {
    for (const body of ['{', '{"a":1,}', 'null', '3', '"text"', '[]', '   ', '{"a":1}{"b":2}', '\u0000']) {
      const locs = await refused(t, raw(method, path, { body, headers: json }), 400, codeOf(400));
      t.deepEqual(locs, [['body']], `${method} ${path} ${body}`);
    }
  }
});

test('JSON that is no object is told to be no object, not to be no JSON', async (t) => {
  for (const body of ['null', '3', '"text"', '[]']) {
    const reply = await raw('POST', '/v1/graph/invoke', { body, headers: json });
    t.like(reply.body, { error: { message: 'the body must be a JSON object' } } as never, body);
  }
});

test('a body that is too large is 413, also when its length is not told beforehand', async (t) => {
  const large = JSON.stringify({ text: 'x'.repeat(maxBodyBytes) });
  for (const { method, path } of withBody) {
    await refused(t, raw(method, path, { body: large, headers: json }), 413, 'PAYLOAD_TOO_LARGE');
    const body = Readable.toWeb(Readable.from([large.slice(0, 100), large.slice(100)], { objectMode: false }));
    const chunked = raw(method, path, { body, duplex: 'half', headers: json });
    await refused(t, chunked, 413, 'PAYLOAD_TOO_LARGE');
  }
});

test('a small body that unpacks to a large one is 413', async (t) => {
  const body = gzipSync(JSON.stringify({ text: 'x'.repeat(50 * maxBodyBytes) }));
  const headers = { ...json, 'content-encoding': 'gzip' };
  await refused(t, raw('POST', '/v1/graph/invoke', { body, headers }), 413, 'PAYLOAD_TOO_LARGE');
});

test('the connection of a body that was too large goes on', async (t) => {
  const socket = connect(Number(new URL(url()).port), '127.0.0.1');
  const large = 'x'.repeat(4 * maxBodyBytes);
  const post = `POST /v1/graph/invoke HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${String(large.length)}\r\n\r\n`;
  socket.write(post);
  await once(socket, 'data');
  socket.end(`${large}GET /v1/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  t.regex(await text(socket), /HTTP\/1\.1 200 OK[^]*"pong"/);
});

test('an empty body is an empty object: what is required is then missing', async (t) => {
  for (const { row, method, path } of withBody.filter(({ method }) => method !== 'DELETE')) {
    const { required: fields = [], properties = {} } = row.input as InputObject;
    const required = fields.some((field) => !('default' in (properties[field] ?? {})));
    for (const headers of [{}, json]) {
      const { status, body } = await raw(method, path, { headers });
      t.true(status < 500, `${method} ${path} ${JSON.stringify(body)}`);
      if (required) t.is(status, 422, `${method} ${path}`);
    }
  }
});

test('a body of another content type, or of none, is 415', async (t) => {
  for (const { method, path } of withBody) {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'nonsense',
      undefined,
    ]) {
      const body = new Blob(['{}'], type === undefined ? {} : { type });
      await refused(
        t,
        raw(method, path, { body, headers: type === 'nonsense' ? { 'content-type': type } : {} }),
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      );
    }
  }
});

test('a body in an unknown encoding is 415, one that does not unpack is 400', async (t) => {
  const post = (encoding: string, body: Buffer) =>
    raw('POST', '/v1/graph/invoke', { body, headers: { ...json, 'content-encoding': encoding } });
  await refused(t, post('zip', Buffer.from('{}')), 415, 'UNSUPPORTED_MEDIA_TYPE');
  for (const encoding of ['gzip', 'deflate', 'br'])
    await refused(t, post(encoding, Buffer.from('not packed')), 400, codeOf(400));
  await refused(t, post('gzip', gzipSync('{}')), 422, codeOf(422));
});

test('JSON that is nested too deep, or sets a prototype, is 400', async (t) => {
  const deep = `{"messages":[{"role":"user","content":"x","metadata":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}]}`;
  const headers = { ...json };
  await refused(t, raw('POST', '/v1/graph/invoke', { body: deep, headers }), 400, codeOf(400));
  const packed = { body: gzipSync(deep), headers: { ...json, 'content-encoding': 'gzip' } };
  await refused(t, raw('POST', '/v1/graph/invoke', packed), 400, codeOf(400));
  await refused(
    t,
    raw('POST', '/v1/graph/invoke', { body: '{"messages":[],"__proto__":{"a":1}}', headers }),
    400,
    codeOf(400),
  );
  await refused(
    t,
    raw('GET', `/v1/store/memories?options=${encodeURIComponent('{"__proto__":{}}')}`),
    400,
    codeOf(400),
  );
});

test('ids that cannot be are 422 and named, wherever a path has one', async (t) => {
  const parameters = endpoints
    .filter(({ params, method, forOperators }) => params && method === 'GET' && !forOperators)
    .map(({ path }) => path);
  for (const path of parameters) {
    const last = [...path.matchAll(/\{(\w+)\}/g)].at(-1)?.[1] ?? '';
    // The id of a share holds that of its owner.
    for (const id of ['a%2Fb', '%00', 'a%0Ab', '%7F', 'x'.repeat(last === 'share_id' ? 1025 : 257)]) {
      const asked = path.replace(`{${last}}`, id).replaceAll(/\{\w+\}/g, 'x');
      t.deepEqual(await refused(t, raw('GET', asked), 422, codeOf(422)), [['path', last]], asked.slice(0, 80));
    }
  }
  t.deepEqual(await refused(t, raw('GET', '/v1/threads//state'), 422, codeOf(422)), [['path', 'thread_id']]);
  t.deepEqual(await refused(t, raw('GET', '/v1/threads//messages/1'), 422, codeOf(422)), [['path', 'thread_id']]);
});

test('broken percent-encoding is 400', async (t) => {
  for (const id of ['%', '%zz', '%E0%A4%A', '%c0%af', '%ff'])
    await refused(t, raw('GET', `/v1/threads/${id}`), 400, codeOf(400));
});

test('a query whose encoded bytes are not UTF-8 is 400, and a percent sign that encodes nothing stands for itself', async (t) => {
  for (const query of ['search=%ff', 'search=%c0%af', 'search=a&limit=1%E0%A4%A', '%ff=1'])
    await refused(t, raw('GET', `/v1/threads?${query}`), 400, codeOf(400));
  for (const query of ['search=50%', 'search=%', 'search=%zz', 'search=%C3%A9%'])
    t.is((await raw('GET', `/v1/threads?${query}`)).status, 200, query);
});

test('odd queries are never our fault', async (t) => {
  for (const query of [
    '?',
    '?&&=',
    '?limit',
    '?%',
    '?%zz=%zz',
    '?search=%ff',
    '?search=%00',
    '?a[b]=c',
    '?limit[]=1',
    `?search=${'x'.repeat(8000)}`,
    '?__proto__=1',
    '?search=%25_%27%22%5C',
  ]) {
    for (const path of ['/v1/threads', '/v1/store/memories', '/v1/ping']) {
      const { status } = await raw('GET', `${path}${query}`);
      t.true(status < 500, `${path}${query}: ${String(status)}`);
    }
  }
});

test('a request line or headers that are too long are 431', async (t) => {
  t.is((await raw('GET', `/v1/threads?search=${'x'.repeat(20_000)}`)).status, 431);
  t.is((await raw('GET', '/v1/ping', { headers: { 'x-long': 'x'.repeat(20_000) } })).status, 431);
});

test('a caller that leaves in the middle of its body does no harm', async (t) => {
  for (const header of ['Content-Length: 1000', 'Transfer-Encoding: chunked']) {
    const socket = connect(Number(new URL(url()).port), '127.0.0.1');
    socket.write(`POST /v1/graph/invoke HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${header}\r\n\r\n`);
    await once(socket, 'ready');
    socket.destroy();
    await once(socket, 'close');
    await stillServes(t);
  }
});
