import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import fc from 'fast-check';
import type { Message } from '@agent-workflow/protos/message';
import { isRunFailure, RunFailure } from './failure.ts';
import { field, type FieldSpec } from './field.ts';
import { defaultValues, mergeOutputs, type NodeOutput } from './merge.ts';
import type { EngineState } from './state.ts';

const specs: Readonly<Record<string, FieldSpec<unknown>>> = {
  sum: field<number>({ type: 'number', default: 0, reducer: (a, b) => a + b }).spec,
  list: field<string[]>({ type: 'array', default: [], reducer: (a, b) => [...a, ...b] }).spec,
  topic: field<string>({ type: 'string', default: '' }).spec,
  count: field<number>({ type: 'integer' }).spec,
  any: field<unknown>({ type: 'any' }).spec,
};
const empty: EngineState = { values: defaultValues(specs), context: [] };

const output = (node: string, fields: Readonly<Record<string, unknown>>): NodeOutput => ({
  node,
  fields,
  messages: [],
  mayReplace: false,
});

const failureOf = (outputs: readonly NodeOutput[], fields = specs): RunFailure => {
  try {
    mergeOutputs(fields, empty, outputs);
  } catch (error) {
    if (isRunFailure(error)) return error;
    throw error;
  }
  throw new Error('it did not fail');
};

const updates = fc.array(
  fc.record(
    { sum: fc.integer({ min: -1000, max: 1000 }), list: fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }) },
    { requiredKeys: [] },
  ),
  { maxLength: 5 },
);

test('reducers get the updates in the order of the nodes', (t) => {
  fc.assert(
    fc.property(updates, (given) => {
      const { state, delta } = mergeOutputs(
        specs,
        empty,
        given.map((fields, index) => output(`n${String(index)}`, fields)),
      );
      t.is(
        state.values['sum'],
        given.reduce((sum, { sum: next = 0 }) => sum + next, 0),
      );
      t.deepEqual(
        state.values['list'],
        given.flatMap(({ list = [] }) => list),
      );
      const written = new Set(given.flatMap((fields) => Object.keys(fields)));
      t.deepEqual(Object.keys(delta.fields).toSorted(), [...written].toSorted());
    }),
  );
});

test('the same outputs give the same state, and the state before is not changed', (t) => {
  fc.assert(
    fc.property(updates, (given) => {
      const before = JSON.stringify(empty);
      const outputs = given.map((fields, index) => output(`n${String(index)}`, fields));
      t.deepEqual(mergeOutputs(specs, empty, outputs), mergeOutputs(specs, empty, outputs));
      t.is(JSON.stringify(empty), before);
    }),
  );
});

test('the delta holds the JSON of each value in the state, for any JSON value', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { state, delta } = mergeOutputs(specs, empty, [output('a', { any: value })]);
      t.deepEqual(state.values['any'], JSON.parse(delta.fields['any'] ?? ''));
      t.deepEqual(state.values['any'], JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('the merged state is deeply frozen, and a copy of what the node returned', (t) => {
  const mine = { deep: [{ n: 1 }] };
  const { state } = mergeOutputs(specs, empty, [output('a', { any: mine })]);
  const held = state.values['any'] as typeof mine;
  t.true([state.values, held, held.deep, held.deep[0]].every(Object.isFrozen));
  mine.deep.push({ n: 2 });
  t.is(held.deep.length, 1);
});

test('two nodes that write a field without a reducer in one step fail the graph', (t) => {
  const failure = failureOf([output('a', { topic: 'x' }), output('b', { topic: 'x' })]);
  t.is(failure.code, 'GraphFailed');
  t.is(failure.message, 'nodes "a" and "b" wrote field "topic" in one step, and it has no reducer');
  t.is(failure.node, 'b');
});

for (const [field, value, fault] of [
  ['topic', 5, 'field "topic" must be a string, not number'],
  ['topic', null, 'field "topic" must be a string, not null'],
  ['count', 1.5, 'field "count" must be an integer, not number'],
  ['count', [1], 'field "count" must be an integer, not array'],
  ['sum', 'x', 'field "sum" must be a number, not string'],
  ['unknown', 1, 'field "unknown" is not declared in the graph'],
  ['constructor', 1, 'field "constructor" is not declared in the graph'],
  ['context', [], 'field "context" is not declared in the graph: messages are returned as "messages"'],
  ['context_summary', 1, 'field "context_summary" must be a string, not number'],
  ['any', 1n, 'field "any" holds a value that is not JSON: any is a bigint'],
  ['any', () => 1, 'field "any" holds a value that is not JSON: any is a function'],
] as const) {
  test(`${field} of ${typeof value} ${String(value)} is refused, naming field and node`, (t) => {
    const failure = failureOf([output('writer', { [field]: value })]);
    t.is(failure.code, 'NodeFailed');
    t.is(failure.message, fault);
    t.is(failure.node, 'writer');
  });
}

test('a value of five thousand levels is refused as nested too deep, and not as no JSON', (t) => {
  let any: unknown = 1;
  for (let level = 0; level < 5000; level++) any = level % 2 === 0 ? [any] : { any };
  t.is(failureOf([output('writer', { any })]).message, 'field "any" holds a value that is nested too deep');
});

test('the failure of a reducer names its field and has the message of the error, and the error as its cause', (t) => {
  const cause = new Error('inside');
  const broken = field<number>({
    type: 'number',
    reducer: () => {
      throw cause;
    },
  }).spec;
  const failure = failureOf([output('a', { broken: 1 })], { broken });
  t.is(failure.message, 'the reducer of field "broken" failed: inside');
  t.is(failure.cause, cause);
});

test('a reducer that gives a promise is refused, which JSON would make an empty object', (t) => {
  const late = field<unknown>({ type: 'any', reducer: async (_before, more) => more }).spec;
  const { message } = failureOf([output('a', { late: 1 })], { late });
  t.is(message, 'the reducer of field "late" gives a promise: it must return at once');
});

test('a reducer that gives a promise which rejects is refused in the same way, and leaves no rejection behind', async (t) => {
  const late = field<unknown>({ type: 'any', reducer: () => Promise.reject(new Error('later')) }).spec;
  const { message } = failureOf([output('a', { late: 1 })], { late });
  t.is(message, 'the reducer of field "late" gives a promise: it must return at once');
  // A rejection that nobody takes is reported after a turn of the event loop, and fails the test.
  await setImmediate();
});

test('a long message of a reducer is shortened as that of a node is', (t) => {
  const broken = field<number>({
    type: 'number',
    reducer: () => {
      throw new Error('x'.repeat(5000));
    },
  }).spec;
  const { message } = failureOf([output('a', { broken: 1 })], { broken });
  t.is(message, `the reducer of field "broken" failed: ${'x'.repeat(2000)} …`);
});

test('a field that is undefined in an update is not written', (t) => {
  const { delta } = mergeOutputs(specs, empty, [output('a', { topic: undefined }), output('b', { topic: 'x' })]);
  t.deepEqual(delta.fields, { topic: '"x"' });
});

const messageOf = (id: string): Message => ({
  message_id: id,
  role: 'user',
  content: [],
  timestamp: '2026-01-01T00:00:00.000Z',
});
const talk: EngineState = { ...empty, context: ['a', 'b', 'c'].map(messageOf) };
const idsOf = (state: EngineState): string[] => state.context.map(({ message_id: id }) => id);

test('messages that nodes remove leave the context, and messages that they add stay', (t) => {
  const { state, delta } = mergeOutputs(specs, talk, [
    { ...output('one', {}), removed: ['b', 'a'], messages: [messageOf('d')] },
    { ...output('two', {}), removed: ['a'] },
    output('three', {}),
  ]);
  t.deepEqual(idsOf(state), ['c', 'd']);
  t.deepEqual(delta.removed, ['b', 'a']);
  t.deepEqual(
    delta.messages.map(({ message_id: id }) => id),
    ['d'],
  );
});

test('a message that one node removes and another adds or replaces in the same step is removed, in any order of the nodes', (t) => {
  const adding = { ...output('adding', {}), messages: [messageOf('a'), messageOf('d')], mayReplace: true };
  const removing = { ...output('removing', {}), removed: ['a', 'd'] };
  for (const outputs of [
    [adding, removing],
    [removing, adding],
  ]) {
    const { state, delta } = mergeOutputs(specs, talk, outputs);
    t.deepEqual(idsOf(state), ['b', 'c']);
    t.deepEqual(delta.removed, ['a', 'd']);
    t.is(delta.messages.length, 2);
  }
});

test('kept and removed messages together are the context before and the added messages', (t) => {
  const ids = fc.subarray(['a', 'b', 'c', 'd', 'e']);
  fc.assert(
    fc.property(fc.array(ids, { maxLength: 4 }), (given) => {
      const { state, delta } = mergeOutputs(specs, talk, [
        { ...output('adding', {}), messages: [messageOf('d'), messageOf('e')] },
        ...given.map((removed, index) => ({ ...output(`n${String(index)}`, {}), removed })),
      ]);
      t.deepEqual([...idsOf(state), ...delta.removed].toSorted(), ['a', 'b', 'c', 'd', 'e']);
      t.deepEqual(new Set(delta.removed), new Set(given.flat()));
      t.deepEqual(idsOf(talk), ['a', 'b', 'c']);
    }),
  );
});

test('a step that adds and removes nothing keeps the same context object', (t) => {
  const { state, delta } = mergeOutputs(specs, talk, [{ ...output('a', {}), removed: undefined }, output('b', {})]);
  t.is(state.context, talk.context);
  t.deepEqual(delta.removed, []);
});

for (const [removed, fault] of [
  ['a', 'must be an array, not string'],
  [null, 'must be an array, not null'],
  [{ 0: 'a' }, 'must be an array, not object'],
  [['a', 1], 'holds what is no message id: it must be a string, not number'],
  [[messageOf('a')], 'holds what is no message id: it must be a string, not object'],
  [['a', 'z'], 'names "z", which no message of the context has for its id'],
] as const) {
  test(`removed_from_context of ${JSON.stringify(removed)} is refused, naming the node`, (t) => {
    const failure = t.throws(() => mergeOutputs(specs, talk, [{ ...output('tidy', {}), removed }]), {
      instanceOf: RunFailure,
    });
    t.is(failure.code, 'NodeFailed');
    t.is(failure.message, `removed_from_context of node "tidy" ${fault}`);
    t.is(failure.node, 'tidy');
  });
}

/** A value that gives the first of these when it is checked, and the last when it is stored. */
function changing(...given: readonly unknown[]): unknown {
  let asked = 0;
  return {
    get value(): unknown {
      return given[Math.min(asked++, given.length - 1)];
    },
  };
}

test('a value fits its field as it is stored, also where its toJSON or a getter gives something else than was checked', (t) => {
  const schema = { type: 'object', properties: { value: { type: 'integer' } } };
  const fields = {
    ...specs,
    note: field<object>({ type: 'object', schema }).spec,
    all: field<object>({ type: 'object' }).spec,
    rows: field<object>({ type: 'array' }).spec,
  };
  t.regex(
    failureOf([output('a', { all: { toJSON: () => 'text' } })], fields).message,
    /field "all" must be an object, not string as JSON/,
  );
  t.regex(
    failureOf([output('a', { rows: Object.assign([], { toJSON: () => ({}) }) })], fields).message,
    /field "rows" must be an array, not object as JSON/,
  );
  t.regex(
    failureOf([output('a', { note: { toJSON: () => ({ value: 'x' }) } })], fields).message,
    /field "note" .*value.* as JSON/,
  );
  t.regex(failureOf([output('a', { note: changing(1, 1, 'x') })], fields).message, /field "note" .*value.* as JSON/);
  const kept = { value: 1, toJSON: () => ({ value: 2 }) };
  const { state, delta } = mergeOutputs(fields, empty, [output('a', { note: kept })]);
  t.deepEqual(state.values['note'], { value: 2 });
  t.is(delta.fields['note'], '{"value":2}');
  kept.value = 3;
  t.deepEqual(state.values['note'], { value: 2 });
});
