import test from 'ava';
import { until } from '../until.ts';
import { serve } from './service.ts';

const { url, send, data } = serve(test);

test('ping answers with a text, by either of its paths', async (t) => {
  t.is(await data(t, 'ping', send('GET', '/v1/ping')), 'pong' as never);
  t.is(await data(t, 'ping', send('GET', '/ping')), 'pong' as never);
});

test('probes are answered', async (t) => {
  t.is(await data(t, 'healthz', send('GET', '/healthz')), 'ok' as never);
  // In a cluster on a busy machine a service may answer its first probes late.
  await until(async () => JSON.stringify((await send('GET', '/readyz')).body.data).includes('"degraded":[]'));
  t.deepEqual(await data(t, 'readyz', send('GET', '/readyz')), { status: 'ready', degraded: [] } as never);
});

test('HEAD gives the headers of GET and no body', async (t) => {
  const response = await fetch(`${url()}/v1/ping`, { method: 'HEAD' });
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^application\/json/);
  t.true(Number(response.headers.get('content-length')) > 0);
  t.is(await response.text(), '');
});

const requestIdOf = async (given: string): Promise<string> => {
  const response = await fetch(`${url()}/v1/ping`, { headers: { 'x-request-id': given } });
  const { metadata } = (await response.json()) as { metadata: { request_id: string } };
  return response.headers.get('x-request-id') === metadata.request_id ? metadata.request_id : 'two different ids';
};

test("a caller's request id is kept when it is 1 to 128 visible ASCII characters", async (t) => {
  for (const id of ['a', 'trace-1/2;"x\\y"', 'x'.repeat(128)]) t.is(await requestIdOf(id), id);
});

test('any other request id is replaced by a new UUIDv7', async (t) => {
  for (const id of ['', 'two words', 'größe', 'x'.repeat(129)]) {
    t.regex(await requestIdOf(id), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});

test('the interface describes itself', async (t) => {
  const response = await fetch(`${url()}/openapi.json`);
  t.is(response.status, 200);
  const document = (await response.json()) as { openapi: string; paths: Record<string, unknown> };
  t.regex(document.openapi, /^3\.1/);
  t.true('/v1/graph:StateSchema' in document.paths);
});
