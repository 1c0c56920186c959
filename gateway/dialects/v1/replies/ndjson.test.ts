import test from 'ava';
import fc from 'fast-check';
import { toSegments } from '../../../replies/segments.ts';
import { jsonBytes } from '../../../http/json.ts';
import { ndjson, prefersNdjson } from './ndjson.ts';
import { createToEventJson } from './event-json.ts';

const toEventJson = createToEventJson({ runId: 'r', threadId: 't', requestId: 'q', isNewThread: true });

test('every event is one line', (t) => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), (values) => {
      const events = values.map((value, index) => ({
        seq: index + 1,
        kind: 'messages_chunk',
        at: index,
        data: jsonBytes(value),
      }));
      const segments = toSegments({ framing: ndjson, toEventJson, runId: 'r', after: 0, segmentBytes: 1024 }, events);
      const lines = Buffer.concat(
        segments.map(({ content }) => (Buffer.isBuffer(content) ? content : content.encode())),
      )
        .toString()
        .split('\n');
      t.is(lines.pop(), '');
      t.deepEqual(
        lines.map((line) => JSON.stringify((JSON.parse(line) as { readonly data: unknown }).data)),
        values.map((value) => JSON.stringify(value)),
      );
    }),
  );
});

test('NDJSON is for callers that name it, and not server-sent events before it', (t) => {
  t.true(prefersNdjson('application/x-ndjson'));
  t.true(prefersNdjson('Application/X-NDJSON;q=1, text/event-stream'));
  t.false(prefersNdjson('text/event-stream, application/x-ndjson'));
  t.false(prefersNdjson('text/event-stream'));
  t.false(prefersNdjson('*/*'));
  t.false(prefersNdjson(undefined));
});

test('the weights of an Accept header count before the order in it', (t) => {
  t.false(prefersNdjson('application/x-ndjson;q=0.5, text/event-stream'));
  t.false(prefersNdjson('application/x-ndjson; q=0.5, text/event-stream; q=0.9'));
  t.true(prefersNdjson('text/event-stream;q=0.5, application/x-ndjson'));
  t.true(prefersNdjson('text/event-stream; q=0, application/x-ndjson; q=0.001'));
  t.true(prefersNdjson('application/x-ndjson;q=0.5, text/event-stream;q=0.5'));
  t.false(prefersNdjson('text/event-stream;q=0.5, application/x-ndjson;q=0.5'));
  t.false(prefersNdjson('application/x-ndjson;q=0'));
  t.false(prefersNdjson('application/x-ndjson;q=0, */*'));
  t.true(prefersNdjson('application/x-ndjson;charset=utf-8;Q=1.0, text/event-stream;q=nonsense;level=1'));
});
