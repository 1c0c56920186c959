import test from 'ava';
import { fromKeptRequest, toKeptRequest } from './kept-request.ts';

const body = {
  assistant_id: 'agent',
  input: { messages: [{ role: 'user', content: 'hello' }] },
  metadata: { of: 'test' },
  stream_mode: ['values'],
  after_seconds: 5,
};
const started = { body, assistantId: 'an id', config: { tone: 'dry' } };
const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('a request is kept with what its run shows', (t) => {
  const { assistant_id: _, after_seconds: _later, ...shown } = body;
  t.deepEqual(fromKeptRequest(throughJson(toKeptRequest(started, 64 * 1024))), { ...started, body: shown });
});

test('what is too large is left out by name, until the rest fits', (t) => {
  const large = { ...started, body: { ...body, input: 'x'.repeat(2000), context: { y: 'é'.repeat(2000) } } };
  const kept = toKeptRequest(large, 1000);
  t.true(Buffer.byteLength(JSON.stringify(kept)) <= 1000);
  t.like(fromKeptRequest(throughJson(kept)), {
    leftOut: ['input', 'context'],
    config: { tone: 'dry' },
    body: { metadata: { of: 'test' } },
  });
  t.like(toKeptRequest({ ...started, config: { z: 'z'.repeat(2000) } }, 1000), {
    config: {},
    left_out: ['input', 'config'],
  });
});

test('what is no kept request shows nothing', (t) => {
  for (const other of [
    undefined,
    null,
    [],
    {},
    { assistant_id: 1, config: {}, body: {} },
    { assistant_id: 'a', config: {} },
  ])
    t.is(fromKeptRequest(other), undefined);
});
