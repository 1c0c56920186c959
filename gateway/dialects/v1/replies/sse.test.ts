import type { RunEvent } from '@agent-workflow/protos/execution';
import test from 'ava';
import fc from 'fast-check';
import { toSegments } from '../../../replies/segments.ts';
import { jsonBytes } from '../../../http/json.ts';
import { sse } from './sse.ts';
import { createToEventJson } from './event-json.ts';

const scope = { runId: 'r', threadId: 'ü', requestId: 'q', isNewThread: false };

const kinds = fc.constantFrom('metadata', 'on_chain_start', 'messages_chunk', 'state_chunk', 'on_chain_end', 'error');
const events = fc
  .array(fc.tuple(kinds, fc.jsonValue()))
  .map((pairs) =>
    pairs.map(([kind, data], index): RunEvent => ({ seq: index + 1, kind, at: index, data: jsonBytes(data) })),
  );

const toSse = (runId: string, given: readonly RunEvent[], segmentBytes = 1024): string =>
  Buffer.concat(
    toSegments({ framing: sse, toEventJson: createToEventJson(scope), runId, after: 0, segmentBytes }, given).map(
      ({ content }) => (Buffer.isBuffer(content) ? content : content.encode()),
    ),
  ).toString();

test('a reader of server-sent events gets every event back as it was, in order', (t) => {
  fc.assert(
    fc.property(events, fc.uuid(), (given, runId) => {
      const expected = given.map((event) => ({
        id: `${runId}:${String(event.seq)}`,
        event: event.kind,
        data: Buffer.concat(createToEventJson(scope)(event).parts).toString(),
      }));
      t.deepEqual(readSse(toSse(runId, given)), expected);
    }),
  );
});

test('batches are the same stream as their events one by one, and comments in between change nothing', (t) => {
  fc.assert(
    fc.property(events, (given) => {
      const oneByOne = given.map((event) => toSse('r', [event]) + sse.comment).join('');
      t.deepEqual(readSse(oneByOne), readSse(toSse('r', given)));
    }),
  );
});

/** Reads as the HTML standard says: fields up to an empty line are one event, lines that begin with a colon are none. */
function readSse(text: string): Record<string, string>[] {
  return text
    .split('\n\n')
    .map((block) => block.split(/\r\n|\r|\n/).filter((line) => line !== '' && !line.startsWith(':')))
    .filter((lines) => lines.length > 0)
    .map((lines) =>
      Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])),
    );
}
