import test from 'ava';
import fc from 'fast-check';
import {
  fromContextHeaders,
  requestContexts,
  readTraceContext,
  toContextHeaders,
  requestContext,
  traceIdOf,
  withIds,
  type RequestContext,
} from './request-context.ts';

const traceparent = `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`;

test('ids of any text are sent in visible ASCII and arrive unchanged', (t) => {
  const ids = fc.record(
    { requestId: fc.string(), runId: fc.string({ unit: 'grapheme' }), threadId: fc.string({ unit: 'binary' }) },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(ids, (own) => {
      const headers = toContextHeaders(own);
      for (const value of Object.values(headers)) t.regex(value, /^[\x21-\x7e]*$/);
      t.deepEqual(fromContextHeaders(headers), Object.fromEntries(Object.entries(own)) as RequestContext);
    }),
  );
});

test('an id with half a surrogate pair does not stop the other ids', (t) => {
  t.deepEqual(fromContextHeaders(toContextHeaders({ runId: 'r', threadId: 'a\ud800b' })), {
    runId: 'r',
    threadId: 'a\ufffdb',
  });
});

test('a trace arrives unchanged; one that breaks the standard is left out, with its state', (t) => {
  const own = { traceparent, tracestate: 'vendor=1' };
  t.deepEqual(fromContextHeaders(toContextHeaders(own)), own);
  const broken = [
    '',
    'nonsense',
    traceparent.toUpperCase(),
    `ff${traceparent.slice(2)}`,
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`,
    `${traceparent}-more`,
    `${traceparent}\n`,
  ];
  for (const each of broken) t.deepEqual(readTraceContext({ traceparent: each, tracestate: 'a=1' }), {}, each);
  t.deepEqual(readTraceContext({ traceparent: [traceparent] }), {});
  for (const tracestate of ['', 'a=\u00e9', 'a=1\r\nx: y', 'a'.repeat(513)])
    t.deepEqual(readTraceContext({ traceparent, tracestate }), { traceparent }, tracestate);
});

test('an id that cannot be decoded is left out, and the others arrive', (t) => {
  t.deepEqual(fromContextHeaders({ 'x-run-id': '%', 'x-thread-id': 'a%20b', traceparent: 'no' }), { threadId: 'a b' });
});

test('work has its request context to its end, and the outer context stays', async (t) => {
  t.deepEqual(requestContext(), {});
  const later = requestContexts.run({ runId: 'a' }, async () => {
    await Promise.resolve();
    const inner = await requestContexts.run({ runId: 'b' }, async () =>
      Promise.resolve().then(() => requestContext().runId),
    );
    return [inner, requestContext().runId];
  });
  t.deepEqual(requestContext(), {});
  t.deepEqual(await later, ['b', 'a']);
});

test('the ids that a request names go into its context; a request without ids leaves the context as it is', (t) => {
  const own = { requestId: 'q', runId: 'r' };
  t.deepEqual(withIds(own, { threadId: 't' }), { requestId: 'q', runId: 'r', threadId: 't' });
  t.is(withIds(own, { runId: '', threadId: 7 }), own);
  t.is(traceIdOf({ traceparent }), '0af7651916cd43dd8448eb211c80319c');
});
