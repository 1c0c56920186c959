import test from 'ava';
import { boundedReader, definitionOf } from './definitions.ts';

function readerOf(name: string) {
  const rpc = definitionOf('threads')[name];
  if (!rpc) throw new Error(name);
  return { read: boundedReader(rpc), encode: (request: object): Buffer => rpc.requestSerialize(request) };
}

/** So many fields with this number, each empty. */
const empty = (field: number, count: number): Buffer => {
  const key = field < 16 ? [field * 8 + 2] : [((field * 8 + 2) & 127) | 128, (field * 8 + 2) >> 7];
  return Buffer.alloc(count * (key.length + 1), Buffer.from([...key, 0]));
};

test('a request with very many fields is refused before it is decoded, wherever they are', (t) => {
  const { read } = readerOf('CommitStep');
  const [messages, removed, fused] = [8, 10, 70];
  for (const field of [messages, removed]) {
    t.notThrows(() => read(empty(field, 250_000)));
    t.throws(() => read(empty(field, 400_000)), { instanceOf: RangeError });
  }
  const inner = empty(2, 400_000);
  const length = [(inner.length & 127) | 128, ((inner.length >> 7) & 127) | 128, inner.length >> 14];
  t.throws(() => read(Buffer.concat([empty(fused, 1).subarray(0, 2), Buffer.from(length), inner])), {
    message: /300000 fields/,
  });
});

test('the fields of what is kept as bytes are not counted, and a large step is let in', (t) => {
  const { read, encode } = readerOf('CommitStep');
  const json = empty(1, 400_000);
  t.notThrows(() => read(encode({ fields: { n: json }, messages: [{ messageId: 'm', json }] })));
  const ids = Array.from({ length: 100_000 }, (_, index) => `m${String(index)}`);
  const messages = ids.slice(0, 40_000).map((messageId) => ({ messageId, json: Buffer.from('{}') }));
  t.notThrows(() => read(encode({ removedFromContext: ids, messages })));
});
