import { status } from '@grpc/grpc-js';
import test from 'ava';
import fc from 'fast-check';
import { repliesCodec, requestsCodec } from './call-messages.ts';

const bytes = fc.uint8Array({ maxLength: 200 });
const id = fc.integer({ min: 1, max: 2 ** 31 - 1 });
const context = fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true });

test('requests and cancellations come out as they went in', (t) => {
  const request = fc.record({ id, path: fc.string(), message: bytes, timeoutMs: id, context });
  const property = fc.property(fc.array(request), fc.array(id), (requests, cancelled) => {
    const read = requestsCodec.decode(requestsCodec.encode({ requests, cancelled }));
    t.deepEqual(read.cancelled, cancelled);
    t.deepEqual(
      read.requests.map((one) => ({ ...one, message: [...one.message] })),
      requests.map((one) => ({ ...one, message: [...one.message] })),
    );
  });
  t.notThrows(() => fc.assert(property));
});

test('replies come out as they went in, whichever of their fields they have', (t) => {
  const reply = fc.record(
    {
      id,
      message: bytes,
      code: fc.constantFrom(status.OK, status.ABORTED),
      details: fc.string(),
      error: bytes,
      notBegun: fc.boolean(),
    },
    { requiredKeys: ['id'] },
  );
  const property = fc.property(fc.array(reply), fc.boolean(), (replies, leaving) => {
    const read = repliesCodec.decode(repliesCodec.encode({ replies, leaving }));
    t.is(read.leaving, leaving);
    t.is(read.replies.length, replies.length);
    for (const [index, { message, error, ...plain }] of replies.entries()) {
      t.like(read.replies[index], plain);
      t.deepEqual([...(read.replies[index]?.message ?? [])], [...(message ?? [])]);
      t.deepEqual([...(read.replies[index]?.error ?? [])], [...(error ?? [])]);
    }
  });
  t.notThrows(() => fc.assert(property));
});
