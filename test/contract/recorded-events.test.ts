import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import test from 'ava';
import { EventWriter } from '@agent-workflow/execution/events/event-writer';
import { firstEvents } from '@agent-workflow/execution/events/open-log';
import { toInvokeResult } from '@agent-workflow/execution/events/outcome';
import { stepEvents } from '@agent-workflow/execution/events/event-writer';
import { nothingPublished } from '@agent-workflow/execution/events/published';
import { toSegments } from '@agent-workflow/gateway/replies/segments';
import { ndjson } from '@agent-workflow/gateway/replies/ndjson';
import { sse } from '@agent-workflow/gateway/replies/sse';
import { createToEventJson } from '@agent-workflow/gateway/replies/event-json';
import type { Granularity } from '@agent-workflow/protos/lists';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';

/** The streams of events of every kind, as callers have always read them. Bytes are gzipped, in base64. */
interface Recorded {
  readonly scope: RunScope;
  readonly at: number;
  readonly logs: Readonly<Record<LogName, { readonly sse: string; readonly ndjson: string }>>;
}

const names = ['full', 'low', 'failed', 'large'] as const;
type LogName = (typeof names)[number];

const bytesOf = (text: string): Buffer => gunzipSync(Buffer.from(text, 'base64'));
const recorded = JSON.parse(readFileSync(new URL('../recorded/events.json', import.meta.url), 'utf8')) as Recorded;
const { scope, at, logs } = recorded;

const streamOf = (name: 'sse' | 'ndjson', events: readonly RunEvent[]): string => {
  const framing = { sse, ndjson }[name];
  const toEventJson = createToEventJson(scope);
  const options = { framing, toEventJson, runId: scope.runId, after: 0, segmentBytes: 64 * 1024 };
  return Buffer.concat(
    toSegments(options, events).map(({ content }) => (Buffer.isBuffer(content) ? content : content.encode())),
  ).toString();
};

const message = (id: string, role: Message['role'], content: Message['content'], seconds: string): Message => ({
  ...{ message_id: id, role, content },
  ...(id === 'm-1' ? { metadata: { 7: 'b', a: 1.5e21 } } : {}),
  timestamp: `2026-09-21T14:13:${seconds}Z`,
});
const user = message('m-0', 'user', [{ type: 'text', text: 'Where is "42"?\nΩ' }], '19.000');
const picture = { type: 'image', url: 'data:,x' };
const spoken = { type: 'text', text: 'It is\non its way 🫖 \\ ","thread_id":"x"' };
const assistant = message('m-1', 'assistant', [spoken, picture], '20.123');
const toolResult = {
  ...{ type: 'tool_result', call_id: 'c', output: { data: [1, null] } },
  ...{ status: 'completed', is_error: false },
};
const tool = message('m-2', 'tool', [toolResult], '20.123');
const long = Array.from({ length: 4 }, (_, index) => ({
  ...user,
  message_id: `m-l${String(index)}`,
  content: [{ type: 'text', text: `ü${String(index)}`.repeat(12_000) }],
}));

/** What the recorded logs were written from. */
const runs: Readonly<Record<LogName, { granularity: Granularity; context: readonly Message[]; fails?: boolean }>> = {
  full: { granularity: 'full', context: [user, assistant, tool] },
  low: { granularity: 'low', context: [user, assistant, tool] },
  failed: { granularity: 'partial', context: [user, assistant, tool], fails: true },
  large: { granularity: 'full', context: [user, assistant, tool, ...long] },
};

/** The log as the service writes it. */
function write(name: LogName): readonly RunEvent[] {
  const { granularity, context, fails = false } = runs[name];
  const events = new EventWriter(scope, 0);
  const publishedOf = (id: string) => (id === 'm-1' ? { characters: 9, blocks: 1, whole: false } : nothingPublished);
  const message = { messageId: 'm-1', role: 'assistant' } as const;
  const first = {
    ...{ step: 0, nodes: ['agent'], at, fields: { order: '42', context_summary: 'so far ü' } },
    ...{ messages: [assistant, tool], removed: ['m-9'] },
  };
  const second = { step: 1, nodes: ['a', 'b'], at, fields: { order: '43' }, messages: [tool], removed: [] };
  const outcome = {
    ...({ status: 'interrupted', iterations: 2, recursionLimitReached: false } as const),
    added: { messages: [assistant, tool], reply: assistant, isPartial: false },
    state: { values: { order: '42', context_summary: 'so far ü', list: [1, { data: ',"thread_id":' }] }, context },
    interrupts: [{ id: 'i', node: 'a', value: { question: '?' } }],
    usage: [],
  };
  const error = { code: 'NODE_ERROR', message: 'it "broke"', node: 'agent' };
  return [
    ...firstEvents(events, scope, undefined, { at }),
    events.write('on_chain_stream', { node: 'agent', step: 0, status: 'started' }, { node: 'agent', step: 0 }, { at }),
    { ...events.chunk('agent', 0, { ...message, chunk: 'It is\non ' }), at },
    { ...events.chunk('agent', 0, { ...message, chunk: picture }), at },
    ...stepEvents(events, granularity, first, { message: publishedOf, has: () => false }),
    ...stepEvents(events, granularity, second, { message: () => nothingPublished, has: () => false }),
    fails
      ? events.write('error', error, { node: 'agent' }, { at })
      : events.end(toInvokeResult({ ...scope, granularity, resumes: 'r-0' }, outcome, at), at),
  ];
}

for (const name of names)
  test(`events of every kind reach a caller in the bytes that they always had: ${name}`, (t) => {
    for (const framing of ['sse', 'ndjson'] as const)
      t.true(streamOf(framing, write(name)) === bytesOf(logs[name][framing]).toString(), framing);
  });

test('every kind of event was recorded', (t) => {
  t.is(new Set(names.flatMap((name) => write(name).map(({ kind }) => kind))).size, 9);
});
