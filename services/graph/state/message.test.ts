import type { Block } from '@agent-workflow/protos/message';
import { sizes } from '@agent-workflow/kit/sizes';
import test from 'ava';
import fc from 'fast-check';
import { RunFailure } from './failure.ts';
import { boundEmitted, boundProviderData, draftMessage, toMessages } from './message.ts';

const asItIs = (block: Block): Block => block;

test('the rules for messages of a caller hold for messages of a node', (t) => {
  const cases: [message: unknown, fault: string][] = [
    [{ content: 'x', role: 42 }, 'messages[0].role must be one of user, assistant, system, tool'],
    [{ content: 5 }, 'messages[0].content must be a string or an array, not number'],
    [{ content: [5] }, 'messages[0].content[0] must be an object, not number'],
    [{ content: [{ type: 'text' }] }, 'messages[0].content[0].text is required'],
    [
      { content: [{ type: 'tool_call', id: 'a', name: 'b', args: 'c' }] },
      'messages[0].content[0].args must be an object, not string',
    ],
    [{ content: 'x', metadata: 5 }, 'messages[0].metadata must be an object, not number'],
    [
      { content: 'x', timestamp: 'soon' },
      'messages[0].timestamp must be an ISO 8601 time, or a number of the years 1970 to 9999',
    ],
  ];
  for (const id of ['a/b', '.', '..', 'a\u0000'])
    cases.push([
      { content: 'x', message_id: id },
      'messages[0].message_id must not hold a slash or a control character, nor be "." or ".."',
    ]);
  for (const [message, fault] of cases) {
    const failure = t.throws(() => toMessages([message], asItIs), { instanceOf: RunFailure });
    t.is(failure.message, fault);
    t.is(failure.code, 'NodeFailed');
  }
});

const newDraft = () => draftMessage({ toBlock: asItIs, countEmitted: boundEmitted(), role: 'assistant' });

test('the same rules hold for a block that a node emits', (t) => {
  const draft = newDraft();
  const failure = t.throws(() => draft.add({ type: 'tool_call', id: '', name: 'b', args: {} }), {
    instanceOf: RunFailure,
  });
  t.is(failure.message, 'the emitted chunk.id must not be empty');
  for (let count = 0; count < 1000; count++) draft.add({ type: 'hologram' });
  t.regex(t.throws(() => draft.add({ type: 'hologram' })).message, /more than 1000 blocks/);
});

test('what is emitted and is neither a text nor a block is refused, and of a promise it says so', (t) => {
  const emitted = (chunk: unknown): string => t.throws(() => newDraft().add(chunk as Block)).message;
  t.is(emitted(5), 'the emitted chunk must be a text or an object, not number');
  t.is(emitted(['x']), 'the emitted chunk must be a text or an object, not array');
  t.is(emitted(Promise.resolve('x')), 'the emitted chunk is a promise: await it');
});

test('messages of a node that are promises are refused as that, by their place', (t) => {
  const refusal = (given: unknown): string => t.throws(() => toMessages(given, asItIs)).message;
  const promise = Promise.resolve([]);
  t.is(refusal(promise), 'messages is a promise: await it');
  t.is(refusal([promise]), 'messages[0] is a promise: await it');
  t.is(refusal([{ content: [promise] }]), 'messages[0].content[0] is a promise: await it');
});

test('a message of a node gets the id, role and time that it lacks', (t) => {
  const [message] = toMessages([{ content: 'x', message_id: '0', timestamp: 1_767_323_045, mood: 'good' }], asItIs);
  t.like(message, {
    role: 'assistant',
    content: [{ type: 'text', text: 'x' }],
    timestamp: '2026-01-02T03:04:05.000Z',
    mood: 'good',
  });
  t.regex(message?.message_id ?? '', /^[0-9a-f-]{36}$/);
});

const dataOf = (name: string) => ({ source: 's', members: { name } });

test('chunks of reasoning behind each other become one block, which what its provider needs back ends', (t) => {
  const draft = newDraft();
  const chunks = [
    { type: 'reasoning', text: 'Hm, ' },
    { type: 'reasoning', text: 'yes.' },
    { type: 'reasoning', text: '', provider_data: dataOf('a') },
    { type: 'reasoning', text: 'And more.' },
    { type: 'reasoning', summary: 'all of it' },
    'Hel',
    { type: 'text', text: 'lo', provider_data: dataOf('b') },
    ' you',
    { type: 'reasoning', text: '' },
    { type: 'text', text: '!' },
    { type: 'tool_call', id: 'c', name: 'find', args: {}, provider_data: dataOf('c') },
    { type: 'reasoning', text: '', provider_data: dataOf('d') },
  ].map((chunk) => draft.add(chunk).chunk);
  draft.endAnswer('tool_calls');
  t.deepEqual(chunks.slice(0, 3), [{ type: 'reasoning', text: 'Hm, ' }, { type: 'reasoning', text: 'yes.' }, '']);
  t.deepEqual(chunks.slice(5, 7), ['Hel', 'lo']);
  const { content, metadata } = draft.finish() ?? {};
  t.deepEqual(content, [
    { type: 'reasoning', text: 'Hm, yes.', provider_data: dataOf('a') },
    { type: 'reasoning', text: 'And more.' },
    { type: 'reasoning', summary: 'all of it' },
    { type: 'text', text: 'Hello', provider_data: dataOf('b') },
    { type: 'text', text: ' you' },
    { type: 'text', text: '!' },
    { type: 'tool_call', id: 'c', name: 'find', args: {}, provider_data: dataOf('c') },
    { type: 'reasoning', text: '', provider_data: dataOf('d') },
  ]);
  t.deepEqual(metadata, { finish_reason: 'tool_calls' });
});

test('however text, reasoning and calls alternate, a message has them in their order with all of their text', (t) => {
  const chunk = fc.oneof(
    fc.string(),
    fc.record({ type: fc.constant('reasoning'), text: fc.string() }),
    fc.nat().map((id) => ({ type: 'tool_call', id: `c${String(id)}`, name: 'find', args: {} })),
  );
  /** Each character of text and reasoning behind a letter for its kind, and each call. */
  const written = (parts: readonly (string | Block)[]): string =>
    parts
      .map((part) => {
        if (typeof part === 'string') return part.replaceAll(/[^]/g, (one) => `t${one}`);
        if (part.type === 'tool_call') return `c${String(part['id'])}`;
        return String(part['text']).replaceAll(/[^]/g, (one) => `${part.type[0] ?? ''}${one}`);
      })
      .join('');
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 30 }), (chunks) => {
      const draft = newDraft();
      for (const one of chunks) draft.add(one);
      const content = draft.finish()?.content ?? [];
      t.is(written(content), written(chunks));
      const joined = content.filter(({ type }, index) => type !== 'tool_call' && content[index - 1]?.type === type);
      t.deepEqual(joined, []);
    }),
  );
});

test('provider data over its size is dropped from the whole message, which stays', (t) => {
  const content = ['a', 'b'].map((id) => ({
    ...{ type: 'tool_call', id, name: 'find', args: {} },
    provider_data: { source: 's', members: { signature: id.repeat(sizes.providerData / 2 + (id === 'b' ? 1 : -80)) } },
  }));
  const [over] = toMessages([{ content }], asItIs);
  const [within] = toMessages([{ content: content.slice(0, 1) }], asItIs);
  if (!over || !within) return t.fail();
  const seen: number[] = [];
  const shown = [over, within].map((message) => boundProviderData(message, (bytes) => seen.push(bytes)));
  t.deepEqual(
    shown[0]?.content,
    content.map(({ provider_data: _, ...block }) => block),
  );
  t.is(shown[1], within);
  t.is(seen.length, 1);
});
