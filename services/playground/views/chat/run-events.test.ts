import type { Block, Message, RunEvent } from '@agent-workflow/client';
import test from 'ava';
import fc from 'fast-check';
import {
  dropCut,
  emptyConversation,
  isShown,
  mergePage,
  prependPage,
  removeBehind,
  type Conversation,
  type LoggedMessage,
} from './conversation.ts';
import { applyEvent } from './run-events.ts';

const timestamp = '2026-01-01T12:00:00.000Z';
const message = (id: string, text = id, role: Message['role'] = 'assistant'): LoggedMessage => ({
  ...{ message_id: id, role, timestamp },
  content: [{ type: 'text', text }],
});

let seq = 0;
const event = (kind: RunEvent['event'], data: unknown, more: Partial<RunEvent> = {}): RunEvent => ({
  ...{ id: `r:${String(++seq)}`, event: kind, data, thread_id: 't', run_id: 'r', metadata: {}, timestamp },
  ...more,
});
const place = (id: string, step = 0, node = 'n') => ({ metadata: { message_id: id, role: 'assistant', step, node } });
const chunk = (id: string, data: unknown, step = 0, node = 'n'): RunEvent =>
  event('messages_chunk', data, place(id, step, node));
const end = (whole: LoggedMessage): RunEvent =>
  event('messages_chunk', '', { message: whole, ...place(whole.message_id) });
const nodeStatus = (data: object): RunEvent => event('on_chain_stream', data);

const apply = (conversation: Conversation, events: readonly RunEvent[]): Conversation => {
  for (const each of events) applyEvent(conversation, each);
  return conversation;
};
const textsOf = ({ entries }: Conversation): string[] =>
  entries.map(({ blocks }) => blocks.map((block: Block) => String(block['text'])).join(''));

/** The events of a run that streams these messages, each in chunks. */
const streamOf = (chunks: Readonly<Record<string, readonly string[]>>): RunEvent[] => [
  event('metadata', {}),
  event('on_chain_start', {}),
  ...Object.entries(chunks).flatMap(([id, parts]) => [
    ...parts.map((part) => chunk(id, part)),
    end(message(id, parts.join(''))),
  ]),
];
const streams = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }).filter((id) => id !== '__proto__'),
  fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 6 }),
  { maxKeys: 6 },
);

test('what came into the log later comes after a reply that was stopped, what came earlier before it', (t) => {
  const at = (id: string, second: number): LoggedMessage => ({
    ...message(id, id, 'user'),
    timestamp: new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString(),
  });
  const conversation = emptyConversation();
  mergePage(conversation, [at('asked', 0)]);
  const stopped = { ...chunk('partial', 'partial'), timestamp: at('', 2).timestamp };
  apply(conversation, [stopped, event('error', { code: 'STOPPED', message: 'stopped' })]);
  mergePage(conversation, [at('asked', 0), at('of another tab', 1), at('waited', 3)]);
  t.deepEqual(textsOf(conversation), ['asked', 'of another tab', 'partial', 'waited']);
});

test('the chunks of a message make its text, before its end and with it', (t) => {
  fc.assert(
    fc.property(fc.array(fc.string()), (parts) => {
      const conversation = apply(emptyConversation(), [chunk('m', ''), ...parts.map((part) => chunk('m', part))]);
      t.deepEqual(textsOf(conversation), [parts.join('')]);
      t.is(conversation.entries[0]?.state, 'streaming');
      applyEvent(conversation, end(message('m', parts.join(''))));
      t.deepEqual(textsOf(conversation), [parts.join('')]);
      t.is(conversation.entries[0]?.state, 'whole');
    }),
  );
});

test('a run that is replayed over any part of its log shows each message once, in the order of the log', (t) => {
  fc.assert(
    fc.property(streams, fc.nat(6), fc.nat(40), (chunks, logged, again) => {
      const events = streamOf(chunks);
      const log = Object.entries(chunks).map(([id, parts]) => message(id, parts.join('')));
      const conversation = emptyConversation();
      mergePage(conversation, log.slice(0, logged));
      apply(conversation, events.slice(0, again));
      apply(conversation, events);
      mergePage(conversation, log);
      t.deepEqual(
        conversation.entries.map(({ id }) => id),
        log.map(({ message_id: id }) => id),
      );
      t.deepEqual(
        textsOf(conversation),
        log.map(({ content }) => String(content[0]?.['text'])),
      );
    }),
  );
});

test('a step that runs again takes its messages without end away, and no others', (t) => {
  const conversation = apply(emptyConversation(), [
    event('metadata', {}),
    chunk('done', 'kept', 0),
    end(message('done', 'kept')),
    chunk('void', 'lost', 1, 'a'),
    chunk('other', 'beside', 1, 'b'),
    nodeStatus({ node: 'a', step: 1, status: 'restarted', attempt: 2 }),
    chunk('new', 'anew', 1, 'a'),
  ]);
  t.deepEqual(textsOf(conversation), ['kept', 'beside', 'anew']);
  t.is(conversation.run?.restarts, 1);
});

test('a run that ends leaves its messages without end on the page, and says that they are not kept', (t) => {
  const failure = { code: 'NODE_ERROR', message: 'no', node: 'n' };
  const conversation = apply(emptyConversation(), [event('metadata', {}), chunk('m', 'half'), event('error', failure)]);
  t.is(conversation.entries[0]?.state, 'cut');
  t.like(conversation.run, { status: 'failed', error: failure });
  dropCut(conversation);
  t.is(conversation.entries[0]?.state, 'dropped');
});

test('what a stopped run had said is kept where the log has it, and is known as a part', (t) => {
  const conversation = apply(emptyConversation(), [
    event('metadata', {}),
    chunk('m', 'half'),
    event('on_chain_end', stopped),
  ]);
  mergePage(conversation, [{ ...message('m', 'half'), metadata: { partial: true } }]);
  dropCut(conversation);
  t.like(conversation.entries[0], { state: 'whole', isPartial: true });
  t.is(conversation.run?.status, 'stopped');
});

test('a thread that is brought back has nothing behind the messages that are sent again', (t) => {
  const conversation = emptyConversation();
  mergePage(conversation, [message('a', 'hello'), message('b', 'half'), message('c', 'more')]);
  removeBehind(conversation, new Set(['elsewhere']));
  t.is(conversation.entries.length, 3);
  removeBehind(conversation, new Set(['a']));
  t.deepEqual([...conversation.byId.keys()], ['a']);
  t.is(conversation.entries.length, 1);
});

const stopped = {
  ...{ messages: [], all_messages: [], iterations: 1, recursion_limit_reached: false },
  metadata: { message: 'stopped', request_id: 'q', timestamp },
  meta: { thread_id: 't', run_id: 'r', is_new_thread: false, status: 'stopped' },
};

test('branches that stream beside each other stand in the order of the thread once they are whole', (t) => {
  const conversation = apply(emptyConversation(), [
    event('metadata', {}),
    chunk('slow', 'slow, '),
    chunk('quick', 'quick'),
    chunk('slow', 'and more'),
    end(message('quick', 'quick')),
  ]);
  t.deepEqual(textsOf(conversation), ['quick', 'slow, and more']);
  apply(conversation, [end(message('slow', 'slow, and more'))]);
  t.deepEqual(textsOf(conversation), ['quick', 'slow, and more']);
});

test('the result of a tool is known at its call, while it streams and when the log is read from its end', (t) => {
  const call = { type: 'tool_call', id: 'c', name: 'add', args: {} };
  const result = { type: 'tool_result', call_id: 'c', output: 5, is_error: false };
  const streamed = apply(emptyConversation(), [event('metadata', {}), chunk('asks', call)]);
  const { revision = 0 } = streamed.entries[0] ?? {};
  apply(streamed, [event('messages_chunk', result, { metadata: { message_id: 'gave', role: 'tool' } })]);
  t.true((streamed.entries[0]?.revision ?? 0) > revision, 'the call is drawn again');
  const logged = emptyConversation();
  mergePage(logged, [{ ...message('gave', '', 'tool'), content: [result] }]);
  t.deepEqual(
    logged.entries.map((entry) => isShown(logged, entry)),
    [true],
    'nothing is known of its call',
  );
  prependPage(logged, [{ ...message('asks'), content: [call] }]);
  for (const conversation of [streamed, logged]) {
    t.is(conversation.results.get('c')?.block['output'], 5);
    t.deepEqual(
      conversation.entries.map((entry) => isShown(conversation, entry)),
      [true, false],
    );
  }
});

test('a log that was rebuilt replaces what was streamed of the run', (t) => {
  const conversation = apply(emptyConversation(), [event('metadata', {}), chunk('old', 'half')]);
  apply(conversation, [event('metadata', { rebuilt: true }), end(message('m', 'whole'))]);
  t.deepEqual(textsOf(conversation), ['whole']);
});

test('a message that others wrote comes after the one before it in the log', (t) => {
  const conversation = emptyConversation();
  mergePage(conversation, [message('a'), message('d')]);
  mergePage(conversation, [message('a'), message('b'), message('c'), message('d'), message('e')]);
  t.deepEqual(textsOf(conversation), ['a', 'b', 'c', 'd', 'e']);
});

test('an older page stands before all others, and what is there stays the same object', (t) => {
  const conversation = emptyConversation();
  mergePage(conversation, [message('c')]);
  const [first] = conversation.entries;
  prependPage(conversation, [message('a'), message('b'), message('c')]);
  t.deepEqual(textsOf(conversation), ['a', 'b', 'c']);
  t.is(conversation.entries[2], first);
});

test('thoughts that come in chunks are one block, while they come and when the log gives them', (t) => {
  const thoughts = ['one ', 'two'].map((text) => ({ type: 'reasoning', text }));
  const streamed = apply(emptyConversation(), [...thoughts.map((block) => chunk('m', block)), chunk('m', 'So.')]);
  const logged = emptyConversation();
  mergePage(logged, [{ ...message('m'), content: [...thoughts, { type: 'text', text: 'So.' }] }]);
  const expected = [
    { type: 'reasoning', text: 'one two' },
    { type: 'text', text: 'So.' },
  ];
  t.deepEqual(streamed.entries[0]?.blocks, expected);
  t.deepEqual(logged.entries[0]?.blocks, expected);
});

test('a run tells what it does: it sleeps, wakes, and ends with its questions and calls', (t) => {
  const conversation = apply(emptyConversation(), [event('metadata', {})]);
  t.is(conversation.run?.status, 'queued');
  apply(conversation, [event('on_chain_start', {})]);
  apply(conversation, [nodeStatus({ node: 'n', step: 0, status: 'sleeping', wake_at: timestamp })]);
  t.like(conversation.run, { status: 'sleeping', wakeAt: timestamp });
  apply(conversation, [nodeStatus({ node: 'n', step: 0, status: 'started' })]);
  t.like(conversation.run, { status: 'running', wakeAt: undefined });
  const call = { type: 'remote_tool_call', id: 'c', name: 'look', args: {} };
  const interrupts = [{ id: 'i', node: 'n', value: 'Go on?' }];
  const result = {
    ...{
      messages: [{ ...message('m'), content: [call] }],
      all_messages: [],
      iterations: 1,
      recursion_limit_reached: false,
    },
    metadata: { message: 'interrupted', request_id: 'q', timestamp },
    meta: { thread_id: 't', run_id: 'r', is_new_thread: false, status: 'interrupted', interrupts },
  };
  apply(conversation, [event('on_chain_end', result)]);
  t.like(conversation.run, { status: 'interrupted', interrupts, calls: [{ id: 'c', name: 'look', args: {} }] });
});
