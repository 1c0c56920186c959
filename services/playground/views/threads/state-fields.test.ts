import test from 'ava';
import fc from 'fast-check';
import { readField, stateFieldsOf } from './state-fields.ts';

const types = fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'any');
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);

test('a value that is written as JSON, or as a text, is read as it was', (t) => {
  fc.assert(
    fc.property(types, json, (type, value) => {
      fc.pre(type !== 'string' || typeof value === 'string');
      const field = { name: 'topic', type };
      t.deepEqual(readField(field, type === 'string' ? String(value) : JSON.stringify(value)), { value });
    }),
  );
});

test('a text is taken as it is, whatever it looks like', (t) => {
  t.deepEqual(readField({ name: 'topic', type: 'string' }, '{"a": 1'), { value: '{"a": 1' });
});

test('a box without JSON names its field', (t) => {
  const read = readField({ name: 'turns', type: 'number' }, 'three');
  t.regex('fault' in read ? read.fault : '', /^turns is not JSON: /);
});

test('a schema without fields has none', (t) => {
  t.deepEqual(stateFieldsOf({}), []);
  t.deepEqual(stateFieldsOf({ fields: { turns: { type: 'number', description: 'Turns' } } }), [
    { name: 'turns', type: 'number', description: 'Turns' },
  ]);
});
