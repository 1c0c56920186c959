import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import fc from 'fast-check';
import { compile } from './compile.ts';
import type { Keywords } from './keywords.ts';

const texts = fc.constantFrom('a', 'b', 'ab', 'é', '😀😀', '', '12', '2024-02-30');
const leaf = fc.oneof(texts, fc.constantFrom(0, 1, -1, 1.5, 2, 4), fc.boolean(), fc.constant(null));
const { value } = fc.letrec<{ readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
  ),
}));

const count = fc.integer({ min: 0, max: 3 });
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object');
const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 2 });
const pattern = fc.constantFrom('^a', 'b$', '^[a-c]{1,2}$', '\\d+', '^(a|ab)b?$', '^(?=.*b)a', '^\\p{L}+$', '^$');
const { schema } = fc.letrec<{
  readonly schema: boolean | Keywords;
  readonly named: object;
  readonly list: Keywords[];
}>((tie) => ({
  named: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 2 }),
  list: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) as never,
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.boolean(),
    fc.record({ type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })) }),
    fc.record(
      {
        ...{ minimum: count, exclusiveMaximum: count, multipleOf: fc.constantFrom(0.5, 1, 2), minLength: count },
        ...{ maxLength: count, pattern, const: value, enum: fc.uniqueArray(leaf, { minLength: 1, maxLength: 3 }) },
        ...{ required: names, minProperties: count, maxProperties: count, minItems: count, maxItems: count },
        ...{ uniqueItems: fc.boolean(), format: fc.constantFrom('date', 'unknown', 'ipv4') },
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        ...{ properties: tie('named'), additionalProperties: tie('schema'), propertyNames: tie('schema') },
        ...{ patternProperties: fc.dictionary(pattern, tie('schema'), { maxKeys: 1 }), items: tie('schema') },
        ...{ dependentSchemas: tie('named'), dependentRequired: fc.dictionary(fc.constantFrom('a', 'b'), names) },
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        ...{ not: tie('schema'), anyOf: tie('list'), oneOf: tie('list'), allOf: tie('list'), if: tie('schema') },
        ...{ then: tie('schema'), else: tie('schema'), properties: tie('named') },
        ...{ prefixItems: tie('list') },
      },
      { requiredKeys: [] },
    ),
  ),
}));

const faultsOf = (given: Keywords, checked: unknown, all = false): readonly string[] | undefined =>
  compile(given)
    .check(checked, { steps: 1_000_000, faults: all ? 'all' : 'first' })
    ?.faults.map(({ path, text }) => `${path} ${text}`);

/** The code that ajv makes of some schemas with "not" and "prefixItems" beside each other reads a variable that it has not declared. */
function resultOfAjv(ajv: Ajv2020, given: Keywords, checked: unknown): boolean | undefined {
  try {
    return ajv.compile(given)(checked);
  } catch {
    return undefined;
  }
}

test('a schema takes the same values as ajv says', (t) => {
  const ajv = new Ajv2020({ strict: false, logger: false, validateSchema: false, addUsedSchema: false });
  ajv.addFormat('date', /^\d{4}-(?:0[13-9]|1[0-2]|02)-(?:0\d|1\d|2\d)$/);
  ajv.addFormat('ipv4', /^\d+\.\d+\.\d+\.\d+$/);
  let [taken, refused] = [0, 0];
  const property = fc.property(fc.record({ schema, value }), (made) => {
    // ajv compares the prototypes of objects too.
    const { schema: given, value: checked } = JSON.parse(JSON.stringify(made)) as typeof made;
    if (typeof given === 'boolean') return;
    const expected = resultOfAjv(ajv, given, checked);
    if (expected === undefined) return;
    const faults = faultsOf(given, checked);
    t.is(faults?.length === 0, expected, JSON.stringify({ given, checked, faults }));
    t.is(faultsOf(given, checked, true)?.length === 0, expected, JSON.stringify({ given, checked, all: true }));
    if (expected) taken += 1;
    else refused += 1;
  });
  fc.assert(property, { numRuns: 1000 });
  t.true(taken > 100 && refused > 100, `${String(taken)} taken, ${String(refused)} refused`);
});

test('a schema that holds itself, by reference, by anchor and by id, checks every level', (t) => {
  for (const reference of ['#', '#/$defs/node', '#node', 'https://example.org/tree']) {
    const node = {
      ...{ $anchor: 'node', type: 'object', required: ['name'] },
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: reference } } },
    };
    const schema = { $id: 'https://example.org/tree', ...node, $defs: { node } };
    const tree = (name: unknown): object => ({ name: 'a', children: [{ name: 'b', children: [{ name }] }] });
    t.deepEqual(faultsOf(schema, tree('c')), [], reference);
    t.deepEqual(faultsOf(schema, tree(5)), ['/children/0/children/0/name must be string'], reference);
  }
});

test('a reference that comes back to itself at the same value says nothing', (t) => {
  t.deepEqual(faultsOf({ $ref: '#' }, 5), []);
  const round = { $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }, { type: 'string' }] } } };
  t.deepEqual(faultsOf({ ...round, $ref: '#/$defs/a' }, 5), [' must be string']);
});

test('a reference to nothing is an error that names it', (t) => {
  for (const reference of ['#/$defs/gone', '#gone', 'https://example.org/other', 'other.json#/a'])
    t.throws(() => compile({ properties: { a: { $ref: reference } } }), {
      message: `the reference "${reference}" leads to nothing`,
    });
});

test('a tuple, bounds and references of every draft are read as that draft has them', (t) => {
  t.deepEqual(faultsOf({ items: [{ type: 'string' }], additionalItems: false }, ['a', 1]), [
    ' must NOT have more than 1 items',
  ]);
  t.deepEqual(faultsOf({ minimum: 1, exclusiveMinimum: true }, 1), [' must be > 1']);
  t.deepEqual(faultsOf({ maximum: 1, exclusiveMaximum: false }, 1), []);
  t.deepEqual(faultsOf({ dependencies: { a: ['b'] } }, { a: 1 }), [' must have property b when property a is present']);
  const old = { definitions: { a: { id: '#word', type: 'string' } }, properties: { a: { $ref: '#word' } } };
  t.deepEqual(faultsOf(old, { a: 1 }), ['/a must be string']);
  const dynamic = { $dynamicAnchor: 'node', type: 'object', additionalProperties: { $dynamicRef: '#node' } };
  t.deepEqual(faultsOf(dynamic, { a: { b: 1 } }), ['/a/b must be object']);
  t.deepEqual(
    faultsOf({ $recursiveAnchor: true, type: 'object', additionalProperties: { $recursiveRef: '#' } }, { a: 1 }),
    ['/a must be object'],
  );
});

test('what no other keyword has looked at is unevaluated', (t) => {
  const closed = {
    allOf: [{ properties: { a: {} } }],
    anyOf: [
      { properties: { b: { type: 'string' } }, required: ['b'] },
      { properties: { c: {} }, required: ['c'] },
    ],
    unevaluatedProperties: false,
  };
  t.deepEqual(faultsOf(closed, { a: 1, b: '', c: 1 }), []);
  t.deepEqual(faultsOf(closed, { a: 1, c: 1, b: 5 }), [" must NOT have unevaluated properties: 'b'"]);
  const list = { prefixItems: [true], contains: { type: 'string' }, unevaluatedItems: { type: 'number' } };
  t.deepEqual(faultsOf(list, [true, 'a', 5]), []);
  t.deepEqual(faultsOf(list, [true, 'a', null]), ['/2 must be number']);
});

test('a list has as many items that fit as "contains" asks for', (t) => {
  const list = { contains: { type: 'string' }, minContains: 1, maxContains: 2 };
  t.deepEqual(faultsOf(list, [1, 'a']), []);
  for (const other of [[], [1], ['a', 'a', 'a']])
    t.deepEqual(faultsOf(list, other), [' must contain at least 1 and no more than 2 valid item(s)']);
  t.deepEqual(faultsOf({ contains: { type: 'string' } }, []), [' must contain at least 1 valid item(s)']);
  t.deepEqual(faultsOf({ contains: false, minContains: 0 }, []), []);
});

test('nullable takes null beside anything', (t) => {
  const nullable = (rest: object): Keywords => ({
    properties: { a: { nullable: true, ...rest } },
    $defs: { b: { type: 'string' } },
  });
  for (const rest of [{ anyOf: [{ type: 'string' }] }, { $ref: '#/$defs/b' }, { enum: ['b'] }, { type: 'string' }, {}])
    t.deepEqual(faultsOf(nullable(rest), { a: null }), [], JSON.stringify(rest));
  t.deepEqual(faultsOf(nullable({ type: 'string' }), { a: 5 }), ['/a must be string']);
});

test('the words of a fault are those of ajv', (t) => {
  const given = {
    type: 'object',
    required: ['b'],
    properties: { a: { type: ['string', 'null'], minLength: 2 }, c: { anyOf: [{ type: 'number' }, { minItems: 2 }] } },
  };
  const checked = { a: '', c: [1] };
  const ajv = new Ajv({ allErrors: true, strict: false });
  ajv.validate(given, checked);
  t.deepEqual(
    faultsOf(given, checked, true),
    ajv.errors?.map(({ instancePath, message }) => `${instancePath} ${String(message)}`),
  );
});
