import test from 'ava';
import fc from 'fast-check';
import { addCalls, endedCalls, noCalls } from './call-chunks.ts';
import { toCallParts } from './ended-calls.ts';
import type { CallPart } from './model.ts';

type Chunk = Readonly<Record<string, unknown>>;

/** The calls of events, each a list of chunks. */
function callsOf(...events: readonly (readonly Chunk[])[]): CallPart[] {
  const drafts = noCalls();
  for (const event of events) addCalls(drafts, event);
  return toCallParts(endedCalls(drafts, 'chat:test'), { reason: 'tool_calls', isStated: true });
}

/** A chunk of a call: its id, name and arguments, and whatever else stands beside them. */
const chunk = (id: unknown, name: unknown, args: unknown, others: Chunk = {}): Chunk => ({
  ...others,
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});

const find = { id: 'a', name: 'find', args: { x: 1 } };
const wipe = { id: 'b', name: 'wipe', args: { y: 2 } };
const one = '{"x":1}';
const two = '{"y":2}';
const at0 = { index: 0 };

/** Each shape, with whoever sends it, gives the calls `find` and `wipe`. */
for (const [title, ...events] of [
  [
    'calls with an index of their own (OpenAI)',
    [chunk('a', 'find', '', at0)],
    [chunk(undefined, undefined, one, at0)],
    [chunk('b', 'wipe', '', { index: 1 })],
    [chunk(undefined, undefined, two, { index: 1 })],
  ],
  [
    'calls whose chunks alternate',
    [chunk('a', 'find', '', at0), chunk('b', 'wipe', '', { index: 1 })],
    [chunk(undefined, undefined, '{"y"', { index: 1 })],
    [chunk(undefined, undefined, one, at0)],
    [chunk(undefined, undefined, ':2}', { index: 1 })],
  ],
  [
    'calls of the same index, each whole (ollama#15457)',
    [chunk('a', 'find', one, at0)],
    [chunk('b', 'wipe', two, at0)],
  ],
  ['calls of the same index in one event', [chunk('a', 'find', one, at0), chunk('b', 'wipe', two, at0)]],
  [
    'calls of the same index in chunks (smolagents#1958)',
    [chunk('a', 'find', '', at0)],
    [chunk(undefined, undefined, '{"x"', at0)],
    [chunk(undefined, undefined, ':1}', at0)],
    [chunk('b', 'wipe', '', at0)],
    [chunk(undefined, undefined, two, at0)],
  ],
  [
    'calls of the same index, whose ids tell their chunks apart',
    [chunk('a', 'find', '', at0)],
    [chunk('b', 'wipe', '', at0)],
    [chunk('a', undefined, one, at0)],
    [chunk('b', undefined, two, at0)],
  ],
  ['calls without an index (Gemini, ollama#7881)', [chunk('a', 'find', one), chunk('b', 'wipe', two)]],
  [
    'chunks without an index',
    [chunk('a', 'find', '{"x"')],
    [chunk(undefined, undefined, ':1}')],
    [chunk('b', 'wipe', two)],
  ],
  [
    'the index as null',
    [chunk('a', 'find', '{"x"', { index: null })],
    [chunk(null, null, ':1}', { index: null })],
    [chunk('b', 'wipe', two, { index: null })],
  ],
  [
    'an empty id in later chunks (DashScope, symfony/ai#2220)',
    [chunk('a', 'find', '{"x"', at0)],
    [chunk('', '', ':1}', at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
  ],
  [
    'the word null as id of later chunks (Mistral, langchainjs#11505)',
    [chunk('a', 'find', '{"x"')],
    [chunk('null', '', ':1}')],
    [chunk('b', 'wipe', two)],
  ],
  [
    'id and name in every chunk (Fireworks, NVIDIA NIM, hermes-agent#8259)',
    [chunk('a', 'find', '', at0)],
    [chunk('a', 'find', '{"x"', at0)],
    [chunk('a', 'find', ':1}', at0)],
    [chunk('a', 'find', '', at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
  ],
  [
    'another id in every chunk (vLLM)',
    [chunk('a', 'find', '{"x"', at0)],
    [chunk('a2', undefined, ':1}', at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
  ],
  [
    'an id that comes late',
    [chunk(undefined, 'find', '{"x"', at0)],
    [chunk('a', undefined, ':1}', at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
  ],
  [
    'a name in two chunks',
    [chunk('a', 'fi', '', at0)],
    [chunk(undefined, 'nd', '', at0)],
    [chunk(undefined, undefined, one, at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
  ],
  [
    'a name that grows',
    [chunk('a', 'fi', '', at0)],
    [chunk(undefined, 'find', '', at0)],
    [chunk(undefined, undefined, one, at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
  ],
  [
    'arguments behind an empty object (proxies of Anthropic)',
    [chunk('a', 'find', '{}', at0)],
    [chunk(undefined, undefined, '{"x"', at0)],
    [chunk(undefined, undefined, ':1}', at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
  ],
  [
    'calls that are repeated whole',
    [chunk('a', 'find', one, at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
    [chunk('a', 'find', one), chunk('b', 'wipe', two)],
  ],
  [
    'arguments as an object (llama.cpp#20198)',
    [chunk('a', 'find', { x: 1 }, at0)],
    [chunk('b', 'wipe', { y: 2 }, at0)],
  ],
  [
    'arguments as JSON of their JSON',
    [chunk('a', 'find', JSON.stringify(one), at0)],
    [chunk('b', 'wipe', two, { index: 1 })],
  ],
  [
    'name and arguments beside the id',
    [{ id: 'a', name: 'find', arguments: one }],
    [{ id: 'b', name: 'wipe', arguments: two }],
  ],
] as const satisfies readonly (readonly [string, ...(readonly Chunk[])[]])[])
  test(`${title} are two calls`, (t) => {
    t.like(callsOf(...events), { length: 2, 0: find, 1: wipe });
  });

test('calls without ids are told apart by their place, their index or their whole arguments, and get ids', (t) => {
  for (const events of [
    [[chunk(undefined, 'find', one), chunk(undefined, 'wipe', two)]],
    [[chunk(undefined, 'find', one, at0)], [chunk(undefined, 'wipe', two, at0)]],
    [
      [chunk(undefined, 'find', '', at0), chunk(undefined, 'wipe', '', { index: 1 })],
      [chunk(undefined, undefined, one, at0), chunk(undefined, undefined, two, { index: 1 })],
    ],
    [
      [chunk(undefined, 'find', ''), chunk(undefined, 'wipe', '')],
      [chunk(undefined, undefined, one), chunk(undefined, undefined, two)],
    ],
  ]) {
    const calls = callsOf(...events);
    t.deepEqual(
      calls.map(({ name, args }) => ({ name, args })),
      [
        { name: 'find', args: { x: 1 } },
        { name: 'wipe', args: { y: 2 } },
      ],
    );
    t.is(new Set(calls.map(({ id }) => id).filter((id) => id !== '')).size, 2);
  }
  t.is(callsOf([chunk(undefined, 'find', one, at0)], [chunk(undefined, 'find', two, at0)]).length, 2);
  t.is(callsOf([chunk('same', 'find', one, at0), chunk('same', 'find', two, at0)]).length, 2);
});

test('no arguments are an empty object, whatever stands for none', (t) => {
  for (const none of [undefined, null, '', ' ', 'null', '{}', {}])
    t.like(callsOf([chunk('a', 'find', none)]), { length: 1, 0: { args: {} } });
});

// xaibo#36: models write a line end within a text as it is.
test('a control character within a text of arguments is part of it', (t) => {
  for (const [json, args] of [
    ['{"a":"x\ny\t","b":\n"\\"\n"}', { a: 'x\ny\t', b: '"\n' }],
    [JSON.stringify('{"a":"x\ny"}'), { a: 'x\ny' }],
  ] as const)
    t.like(callsOf([chunk('a', 'find', json)])[0], { args, cut: undefined });
  t.like(callsOf([chunk('a', 'find', '{"a":"x\ny')])[0], { args: {}, cut: true });
});

test('what is no call is left out, and a call without a name or with arguments that are no JSON is cut', (t) => {
  t.deepEqual(callsOf([{}], [{ index: 0 }], [chunk('', '', '')], [chunk(null, null, null)]), []);
  t.like(callsOf([chunk('a', '', one)])[0], { name: 'unnamed', cut: true });
  for (const broken of ['{"x":', one + two, 'x', '{"x":1}}', '"x"', '[1]', '5', 5, [1]])
    t.like(callsOf([chunk('a', 'find', broken)]), { length: 1, 0: { args: {}, cut: true } });
});

test('the last call of an answer that ended early is cut, and those before it where they have no arguments', (t) => {
  const drafts = noCalls();
  addCalls(drafts, [chunk('a', 'find', one), chunk('b', 'wipe', ''), chunk('c', 'wipe', two)]);
  for (const reason of ['length', 'content_filter'] as const) {
    const calls = toCallParts(endedCalls(drafts, ''), { reason, isStated: true });
    t.deepEqual(
      calls.map(({ cut }) => cut === true),
      [false, true, true],
    );
  }
  const unstated = toCallParts(endedCalls(drafts, ''), { reason: 'unknown', isStated: false });
  t.deepEqual(
    unstated.map(({ cut }) => cut === true),
    [false, true, false],
  );
});

test('members of a call that are not known are kept, those of its function under it', (t) => {
  const google = { google: { thought_signature: 'c2ln' } };
  const [call] = callsOf(
    [{ ...chunk('a', 'find', '{"x"'), extra_content: google }],
    [{ ...chunk('a', undefined, ':1}'), cache: 'ephemeral' }],
  );
  t.deepEqual(call?.provider_data, { source: 'chat:test', members: { extra_content: google, cache: 'ephemeral' } });
  const inner = { function: { name: 'find', arguments: one, provider_specific_fields: { thought_signature: 's' } } };
  t.deepEqual(callsOf([inner])[0]?.provider_data?.members, {
    function: { provider_specific_fields: { thought_signature: 's' } },
  });
});

test('however calls are divided into chunks, each gets its own arguments', (t) => {
  const callArb = fc.record({
    name: fc.constantFrom('find', 'wipe', 'add'),
    args: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })),
  });
  const shape = fc.record({
    hasIndex: fc.boolean(),
    isZero: fc.boolean(),
    repeatsId: fc.boolean(),
    repeatsName: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(callArb, { minLength: 1, maxLength: 4 }),
      shape,
      fc.array(fc.nat({ max: 9 }), { minLength: 1 }),
      (calls, how, cuts) => {
        const events = calls.flatMap(({ name, args }, at) => {
          const json = JSON.stringify(args);
          const places = [...new Set(cuts.map((cut) => Math.min(cut, json.length - 1)))]
            .filter((place) => place > 0)
            .toSorted((a, b) => a - b);
          return [0, ...places].map((from, part) => {
            const own = part === 0;
            return [
              {
                ...(how.hasIndex && { index: how.isZero ? 0 : at }),
                ...((own || how.repeatsId) && { id: `call-${String(at)}` }),
                function: { ...((own || how.repeatsName) && { name }), arguments: json.slice(from, places[part]) },
              },
            ];
          });
        });
        const read = callsOf(...events);
        t.deepEqual(
          read.map(({ id, name, args }) => ({ id, name, args })),
          calls.map(({ name, args }, at) => ({
            id: `call-${String(at)}`,
            name,
            args: JSON.parse(JSON.stringify(args)) as unknown,
          })),
        );
      },
    ),
  );
});
