import test from 'ava';
import fc from 'fast-check';
import { bareField, defaultTexts, formOf, readForm, readJson } from './schema-form.ts';

const types = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const;

/** A value as it is typed into a field of its kind. */
const typed = (value: unknown, kind: string): string => (kind === 'text' ? String(value) : JSON.stringify(value));

const schemaOf = (properties: object, required: readonly string[] = []) => ({ type: 'object', properties, required });

test('each property of an object is a field of its kind, and what has no form is JSON', (t) => {
  const { fields, isBare } = formOf(
    schemaOf(
      {
        name: { type: 'string', description: 'Who', default: 'Ada' },
        turns: { type: 'integer', default: 0, minimum: 0 },
        mood: { enum: ['good', 'bad'] },
        anything: {},
        notes: { type: 'array' },
      },
      ['name'],
    ),
  );
  t.false(isBare);
  t.deepEqual(
    fields.map(({ kind }) => kind),
    ['text', 'integer', 'choice', 'json', 'json'],
  );
  t.like(fields[0], { label: 'name', description: 'Who', fallback: 'Ada', isRequired: true });
  t.like(fields[1], { fallback: '0', isRequired: false, constraints: { minimum: 0 } });
  t.deepEqual(fields[2]?.choices, ['"good"', '"bad"']);
});

test('a value that fits its schema is read as it was written into the form', (t) => {
  const valueOf = { string: fc.string({ minLength: 1 }), integer: fc.integer(), boolean: fc.boolean() };
  const others = { number: fc.double({ noNaN: true, noDefaultInfinity: true }), array: fc.array(fc.jsonValue()) };
  const values = { ...valueOf, ...others, object: fc.dictionary(fc.string(), fc.jsonValue()) };
  const typedValue = fc
    .constantFrom(...types)
    .chain((type) => fc.record({ type: fc.constant(type), value: values[type] }));
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
        typedValue,
        { minKeys: 1 },
      ),
      (given) => {
        const form = formOf(
          schemaOf(Object.fromEntries(Object.entries(given).map(([name, { type }]) => [name, { type }]))),
        );
        const texts = Object.fromEntries(form.fields.map(({ name, kind }) => [name, typed(given[name]?.value, kind)]));
        const expected = Object.fromEntries(Object.entries(given).map(([name, { value }]) => [name, value]));
        t.deepEqual(readForm(form, texts).errors, undefined);
        t.is(JSON.stringify((readForm(form, texts) as { value: unknown }).value), JSON.stringify(expected));
      },
    ),
  );
});

test('a field that cannot be read is named with the reason, and the others do not hide it', (t) => {
  const form = formOf(
    schemaOf(
      {
        age: { type: 'integer', maximum: 150 },
        fee: { type: 'number' },
        ok: { type: 'boolean' },
        list: { type: 'array' },
      },
      ['ok'],
    ),
  );
  t.deepEqual(
    readForm(form, { age: '1.5', fee: 'free', list: '[' }).errors &&
      Object.keys(readForm(form, { age: '1.5', fee: 'free', list: '[' }).errors ?? {}),
    ['age', 'fee', 'ok', 'list'],
  );
  t.like(readForm(form, { age: '200', ok: 'true' }), { errors: { age: 'must be at most 150' } });
});

test('fields without text are left out, and a required text may be empty', (t) => {
  const form = formOf(schemaOf({ name: { type: 'string' }, age: { type: 'integer' } }, ['name']));
  t.deepEqual(readForm(form, {}), { value: { name: '' } });
});

test('a schema of one value makes one field', (t) => {
  t.deepEqual(readForm(formOf({ type: 'boolean' }), { [bareField]: 'true' }), { value: true });
  t.deepEqual(readForm(formOf(undefined), { [bareField]: '{"a":1}' }), { value: { a: 1 } });
  t.is(formOf({ type: 'object' }).fields[0]?.kind, 'json');
});

test('a list of values that a schema names is chosen from them, and nothing chosen is an empty list where one is required', (t) => {
  const tags = { type: 'array', items: { enum: ['a', 1, ['b']] }, minItems: 1 };
  const form = formOf(schemaOf({ tags, more: tags }, ['tags']));
  t.like(form.fields[0], { kind: 'choices', choices: ['"a"', '1', '["b"]'] });
  t.deepEqual(readForm(form, { tags: '["a",["b"]]' }), { value: { tags: ['a', ['b']] } });
  t.deepEqual(readForm(form, {}), { errors: { tags: 'must have at least 1 item' } });
});

test('defaults stand as they would be typed, and what cannot be chosen is no default', (t) => {
  const form = formOf(
    schemaOf({
      name: { type: 'string', default: 'Ada' },
      on: { type: 'boolean', default: false },
      mood: { type: 'string', enum: ['good', 'bad'], default: 'good' },
      gone: { enum: ['good', 'bad'], default: 'better' },
      list: { type: 'array', default: [1] },
      none: { type: 'string' },
    }),
  );
  t.deepEqual(defaultTexts(form), { name: 'Ada', on: 'false', mood: '"good"', list: '[1]' });
});

test('a text that is no JSON says where', (t) => {
  t.true('error' in readJson('{'));
});
