import test from 'ava';
import fc from 'fast-check';
import { fromCarried, onTrail, readTraceContext, toCarried, trail, traceIdOf, withIds, type Trail } from './trail.ts';

const traceparent = `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`;

test('ids of any text arrive as they were, in visible ASCII on their way', (t) => {
  const ids = fc.record(
    { requestId: fc.string(), runId: fc.string({ unit: 'grapheme' }), threadId: fc.string({ unit: 'binary' }) },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(ids, (own) => {
      const carried = toCarried(own);
      for (const value of Object.values(carried)) t.regex(value, /^[\x21-\x7e]*$/);
      t.deepEqual(fromCarried(carried), Object.fromEntries(Object.entries(own)) as Trail);
    }),
  );
});

test('half a character, which nothing can carry, does not stop the rest', (t) => {
  t.deepEqual(fromCarried(toCarried({ runId: 'r', threadId: 'a\ud800b' })), { runId: 'r', threadId: 'a\ufffdb' });
});

test('a trace arrives as it was; one that breaks the standard is left out, with its state', (t) => {
  const own = { traceparent, tracestate: 'vendor=1' };
  t.deepEqual(fromCarried(toCarried(own)), own);
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

test('what cannot be decoded is left out, and the rest stands', (t) => {
  t.deepEqual(fromCarried({ 'x-run-id': '%', 'x-thread-id': 'a%20b', traceparent: 'no' }), { threadId: 'a b' });
});

test('work is on its trail to its end, and leaves the trail around it as it was', async (t) => {
  t.deepEqual(trail(), {});
  const later = onTrail({ runId: 'a' }, async () => {
    await Promise.resolve();
    const inner = await onTrail({ runId: 'b' }, async () => Promise.resolve().then(() => trail().runId));
    return [inner, trail().runId];
  });
  t.deepEqual(trail(), {});
  t.deepEqual(await later, ['b', 'a']);
});

test('a request names what it is about; what names nothing leaves the trail as it is', (t) => {
  const own = { requestId: 'q', runId: 'r' };
  t.deepEqual(withIds(own, { threadId: 't' }), { requestId: 'q', runId: 'r', threadId: 't' });
  t.is(withIds(own, { runId: '', threadId: 7 }), own);
  t.is(traceIdOf({ traceparent }), '0af7651916cd43dd8448eb211c80319c');
});
