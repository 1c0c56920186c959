import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import protobuf from 'protobufjs';
import { toDrafts } from '@agent-workflow/execution/adapters/nats/log/drafts';
import { createJoiner, fromPayload, joinBatches, toPayload } from '@agent-workflow/execution/adapters/nats/log/frame';
import { createEventWriter } from '@agent-workflow/execution/events/event-writer';
import { firstEvents } from '@agent-workflow/execution/events/open-log';
import { toInvokeResult } from '@agent-workflow/execution/events/outcome';
import { stepEvents } from '@agent-workflow/execution/events/step-events';
import { nothingPublished } from '@agent-workflow/execution/events/published';
import { toSegments } from '@agent-workflow/gateway/replies/segments';
import { ndjson } from '@agent-workflow/gateway/replies/ndjson';
import { sse } from '@agent-workflow/gateway/replies/sse';
import { createToEventJson } from '@agent-workflow/gateway/replies/event-json';
import type { Granularity } from '@agent-workflow/protos/lists';
import { within } from '@agent-workflow/protos/call';
import { partsOfData } from '@agent-workflow/protos/event-parts';
import type { Execution, RunEvent, RunScope } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import { readsOldReplicas, servesOldGateways } from '@agent-workflow/protos/old-events';
import { definitionOf } from '@agent-workflow/protos/wire/definitions';
import { byLoad } from '../by-load.ts';

/**
 * What the version before events had parts wrote, recorded from its own code: the JSON of events of every kind, the frames that it
 * stored them in, and the streams that it sent of them. Bytes are gzipped, in base64.
 */
interface Recorded {
  readonly scope: RunScope;
  readonly at: number;
  readonly logs: Readonly<Record<LogName, RecordedLog>>;
}

interface RecordedLog {
  readonly events: readonly { readonly seq: number; readonly event: string; readonly json: string }[];
  readonly frames: readonly { readonly seq: number; readonly payload: string }[];
  readonly sse: string;
  readonly ndjson: string;
}

const names = ['full', 'low', 'failed', 'large'] as const;
type LogName = (typeof names)[number];

const bytesOf = (text: string): Buffer => gunzipSync(Buffer.from(text, 'base64'));
const recorded = JSON.parse(readFileSync(new URL('../recorded/events.json', import.meta.url), 'utf8')) as Recorded;
const { scope, at, logs } = recorded;

const streamOf = (name: 'sse' | 'ndjson', of: RunScope, events: readonly RunEvent[]): string => {
  const framing = { sse, ndjson }[name];
  const options = { framing, toEventJson: createToEventJson(of), runId: of.runId, after: 0, segmentBytes: 64 * 1024 };
  return Buffer.concat(
    toSegments(options, events).map(({ content }) => (Buffer.isBuffer(content) ? content : content.encode())),
  ).toString();
};

function holdsStreams(t: ExecutionContext, name: LogName, of: RunScope, events: readonly RunEvent[]): void {
  t.deepEqual(of, scope);
  for (const framing of ['sse', 'ndjson'] as const)
    t.true(streamOf(framing, of, events) === bytesOf(logs[name][framing]).toString(), `${name} as ${framing}`);
}

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

/** The same log as the service writes it now. */
function write(name: LogName): readonly RunEvent[] {
  const { granularity, context, fails = false } = runs[name];
  const events = createEventWriter(scope, 0);
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

for (const name of names) {
  const log = logs[name];

  test(`events of every kind reach a caller in the bytes that they always had: ${name}`, (t) => {
    holdsStreams(t, name, scope, write(name));
  });

  test(`frames of the version before are read as they stand, also one event that is spread over several: ${name}`, (t) => {
    const join = createJoiner();
    const frames = log.frames.flatMap(({ payload }) => fromPayload(bytesOf(payload)) ?? []);
    t.is(frames.length, log.frames.length);
    const batch = joinBatches(frames.map(join));
    t.truthy(batch);
    if (batch) holdsStreams(t, name, batch.scope, batch.events);
  });

  test(`what is written for replicas of the version before is what they would have written: ${name}`, (t) => {
    const events = write(name);
    const entry = (after: number, some: readonly RunEvent[]) => ({
      ...{ scope, after, events: some, bytes: 0 },
      done: () => undefined,
    });
    let place = 100;
    const frames = toDrafts([entry(0, events.slice(0, 4)), entry(4, events.slice(4))], 48 * 1024, 'lines').map(
      (draft) => {
        const firstSliceSeq = draft.slice > 1 ? ++place - draft.slice + 1 : (++place, 0);
        return Buffer.from(toPayload({ ...draft, firstSliceSeq, origin: 7, writer: 'abcd1234' })).toString();
      },
    );
    t.deepEqual(
      frames,
      log.frames.map(({ payload }) => bytesOf(payload).toString()),
    );
  });

  test(`a gateway reads what a replica of the version before sends: ${name}`, async (t) => {
    const sent = log.events.map(({ seq, event, json }) => ({ seq, event, json: bytesOf(json) }));
    const service = readsOldReplicas({
      wait: (request) => {
        t.true(request.eventParts);
        return Promise.resolve(reply('Wait', oldEvent, sent.at(-1) ?? {}) as RunEvent);
      },
      async *follow(request) {
        t.true(request.eventParts);
        yield await Promise.resolve(reply('Follow', oldEvents, { events: sent.slice(0, 7) }) as Batch);
        yield reply('Follow', oldEvents, { events: sent.slice(7) }) as Batch;
      },
    } as Partial<Execution> as Execution);
    const events: RunEvent[] = [];
    for await (const batch of service.follow({ owner: 'o', runId: scope.runId, after: 0 }, within(byLoad(60_000)))) {
      t.deepEqual(batch.scope, scope);
      events.push(...batch.events);
    }
    holdsStreams(t, name, scope, events);
    const end = await service.wait({ owner: 'o', runId: scope.runId }, within(byLoad(60_000)));
    t.deepEqual(plain([end]), plain(events.slice(-1)));
    const [last] = bytesOf(log.ndjson).toString().split('\n').slice(-2);
    const { data } = JSON.parse(last ?? '') as { readonly data: unknown };
    t.true(Buffer.concat(partsOfData(end)).toString() === JSON.stringify(data), 'what invoke answers with');
  });

  test(`a gateway of the version before, which asks for no parts, reads what it always did: ${name}`, async (t) => {
    const events = write(name);
    const { wait, follow } = servesOldGateways({
      wait: () => Promise.resolve(events.at(-1) as RunEvent),
      async *follow({ after }) {
        yield await Promise.resolve({ scope, events: events.slice(after, after + 5) });
        yield { events: events.slice(after + 5) };
      },
    } as Partial<Execution> as Execution);
    const request = { owner: 'o', runId: scope.runId };
    const read: unknown[] = [];
    for await (const batch of follow({ ...request, after: 0 }, within(byLoad(60_000))))
      read.push(...(decode('Follow', oldEvents, batch)['events'] as unknown[]));
    t.deepEqual(read, asOld(log.events));
    t.deepEqual(
      decode('Wait', oldEvent, await wait(request, within(byLoad(60_000)))),
      asOld(log.events).at(-1) as never,
    );
    // One of this version is given the parts.
    t.is(await wait({ ...request, eventParts: true }, within(byLoad(60_000))), events.at(-1) as RunEvent);
  });
}

test('every kind of event was recorded', (t) => {
  const seen = new Set(names.flatMap((name) => logs[name].events.map(({ event }) => event)));
  t.is(seen.size, 9);
  t.true(logs.large.frames.length > 3);
  t.regex(bytesOf(logs.large.events.at(-1)?.json ?? '').toString(), /^\{"event":"on_chain_end","copy":/);
});

interface Batch {
  readonly events: readonly RunEvent[];
}

const plain = (events: readonly RunEvent[]): unknown[] =>
  events.map(({ data, message: whole, state, ...rest }) => [rest, toText(data), toText(whole), toText(state)]);

const toText = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString();

const asOld = (events: RecordedLog['events']): unknown[] =>
  events.map(({ seq, event, json }) => ({ seq, event, json: bytesOf(json).toString() }));

/** The messages as the version before knows them. */
const old = protobuf.parse(`syntax = "proto3";
  message RunEvent { int64 seq = 1; string event = 2; bytes json = 3; }
  message RunEvents { repeated RunEvent events = 1; }`).root;
const oldEvent = old.lookupType('RunEvent');
const oldEvents = old.lookupType('RunEvents');

const execution = definitionOf('execution');

/** What a caller of this version makes of a reply in the bytes of the version before. */
const reply = (method: string, type: protobuf.Type, value: object): unknown =>
  execution[method]?.responseDeserialize(Buffer.from(type.encode(type.fromObject(value)).finish()));

/** What a caller of the version before makes of a reply of this one. */
function decode(method: string, type: protobuf.Type, value: object): Record<string, unknown> {
  const bytes = execution[method]?.responseSerialize(value) ?? Buffer.alloc(0);
  const toEvent = (event: { seq: number; event: string; json: Uint8Array }): unknown => ({
    ...{ seq: event.seq, event: event.event },
    json: Buffer.from(event.json).toString(),
  });
  const decoded = type.toObject(type.decode(bytes), { longs: Number }) as never;
  return type === oldEvent
    ? (toEvent(decoded) as Record<string, unknown>)
    : { events: (decoded as { events: never[] }).events.map(toEvent) };
}
