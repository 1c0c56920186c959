import test from 'ava';
import fc from 'fast-check';
import { providerDataOf, readEntry, withoutProviderData, type Block, type Message } from './message.ts';
import { jsonWithoutProviderData, keepProviderData, mayHoldProviderData } from './provider-data.ts';

const data = (name: string) => ({ provider_data: { source: 's', members: { name } } });
const text = (word: string): Block => ({ type: 'text', text: word });
const reasoning = (word: string): Block => ({ type: 'reasoning', text: word });
const call = (id: string): Block => ({ type: 'tool_call', id, name: 'find', args: {} });
const stored = {
  content: [
    { ...reasoning('Hm.'), ...data('r') },
    { ...text('Wait.'), ...data('t') },
    { ...reasoning('Now.'), ...data('n') },
    { ...call('c'), ...data('c') },
  ],
};
const kept = (...content: Block[]): readonly Block[] => keepProviderData({ content }, stored).content;

test('a message of a caller has no provider data, whatever it sends under that name', (t) => {
  const given = {
    role: 'assistant',
    content: [
      { ...text('x'), ...data('forged') },
      { type: 'own', provider_data: 5 },
    ],
  };
  const { json } = readEntry(given, ['m'], { newId: () => 'm', now: new Date(0) });
  const { content } = JSON.parse(Buffer.from(json).toString()) as Message;
  t.deepEqual(content, [text('x'), { type: 'own' }]);
});

test('what is the same in the message that takes the place of another keeps its provider data', (t) => {
  t.deepEqual(kept(...withoutProviderData(stored).content), stored.content);
  t.deepEqual(kept(call('c'), text('Something else'), call('d'), reasoning('Now.')), [
    { ...call('c'), ...data('c') },
    text('Something else'),
    call('d'),
    { ...reasoning('Now.'), ...data('n') },
  ]);
});

test('reasoning that a client left out stays where the answer is the same, at its place, and goes with another answer', (t) => {
  t.deepEqual(kept(text('Wait.'), call('c')), stored.content);
  t.deepEqual(kept(text('Wait.'), { type: 'image', url: 'u' }, call('c')), [
    ...stored.content.slice(0, 3),
    { type: 'image', url: 'u' },
    stored.content[3],
  ]);
  t.deepEqual(kept(text('Stop.'), call('c')), [text('Stop.'), { ...call('c'), ...data('c') }]);
  t.deepEqual(kept(text('Wait.')), [{ ...text('Wait.'), ...data('t') }]);
});

test('the JSON of messages is shown without provider data, and any other as it is', (t) => {
  const block = fc.oneof(
    fc.string().map(text),
    fc.string().map((word) => ({ ...reasoning(word), ...data(word) })),
    fc
      .json()
      .map((json) => ({ type: 'tool_result', call_id: 'c', output: { provider_data: JSON.parse(json) as unknown } })),
  );
  const message = fc.array(block).map((content) => ({ role: 'assistant', content }));
  fc.assert(
    fc.property(fc.oneof(message, fc.array(message)), (value) => {
      const json = JSON.stringify(value);
      const shown = JSON.parse(jsonWithoutProviderData(json)) as unknown;
      t.deepEqual(shown, Array.isArray(value) ? value.map(withoutProviderData) : withoutProviderData(value as never));
      t.is(mayHoldProviderData(Buffer.from(json)), json.includes('"provider_data"'));
    }),
  );
  t.is(jsonWithoutProviderData('{"content" : []}'), '{"content" : []}');
});

test('provider data of another shape is none', (t) => {
  for (const given of [
    undefined,
    null,
    5,
    'x',
    {},
    { source: 's' },
    { source: 5, members: {} },
    { source: 's', members: null },
  ])
    t.is(providerDataOf({ type: 'text', provider_data: given }), undefined);
  t.deepEqual(providerDataOf({ type: 'text', ...data('x') }), data('x').provider_data);
});
