import test from 'ava';
import { requireJsonSchema } from './json-schema.ts';

const at = ['fields', 'a', 'schema'];

const nonsense: readonly (readonly [schema: unknown, message: string | RegExp])[] = [
  [42, 'must be a JSON Schema: an object, true or false'],
  [null, 'must be a JSON Schema: an object, true or false'],
  [{ type: 'emperor' }, /^type: must be one of string, number, /],
  [{ type: ['string', 'string'] }, /^type: must be one of/],
  [{ type: [] }, /^type: must be one of/],
  [{ properties: [] }, 'properties: must be an object of schemas'],
  [{ properties: { b: { items: 5 } } }, 'properties.b.items: must be a JSON Schema: an object, true or false'],
  [{ required: ['b', 'b'] }, 'required: must be a list of different texts'],
  [{ anyOf: [] }, 'anyOf: must be a list of schemas that is not empty'],
  [{ allOf: [true, { not: 'b' }] }, 'allOf.1.not: must be a JSON Schema: an object, true or false'],
  [{ $defs: { b: { minLength: -1 } } }, '$defs.b.minLength: must be a whole number from 0 on'],
  [{ maximum: '5' }, 'maximum: must be a number'],
  [{ multipleOf: 0 }, 'multipleOf: must be a number above 0'],
  [{ uniqueItems: 'yes' }, 'uniqueItems: must be true or false'],
  [{ enum: 'a' }, 'enum: must be a list'],
  [{ $ref: {} }, '$ref: must be a text'],
  [{ pattern: 5 }, 'pattern: must be a text'],
  [{ pattern: 'a'.repeat(16 * 1024 + 1) }, 'pattern: must have at most 16384 characters'],
  [{ patternProperties: { '^a': 'b' } }, 'patternProperties.^a: must be a JSON Schema: an object, true or false'],
];

for (const [schema, message] of nonsense) {
  test(`a schema is refused by the place in it that is none: ${JSON.stringify(schema).slice(0, 60)}`, (t) => {
    const error = t.throws(() => requireJsonSchema(schema, at), { code: 'Invalid' });
    const prefix = 'fields.a.schema';
    t.true(error.message.startsWith(prefix));
    const rest = error.message.slice(prefix.length).replace(/^(\.|: )/, '');
    if (typeof message === 'string') t.is(rest, message);
    else t.regex(rest, message);
  });
}

test('schemas of every version pass, with keywords that nobody knows, and references to nothing', (t) => {
  const schemas = [
    ...[true, {}, { $ref: '#/nothing' }, { 'x-order': 5, nullable: 'maybe' }, { default: null, const: {} }],
    { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }], additionalItems: false },
    { type: ['string', 'null'], pattern: '^\\p{L}+$', format: 'made-up', minLength: 1.0 },
    { prefixItems: [{ type: 'integer' }], items: false, unevaluatedItems: false },
    { if: { required: ['a'] }, then: { minProperties: 2 }, else: true, dependentSchemas: { a: {} } },
  ];
  for (const schema of schemas) t.notThrows(() => requireJsonSchema(schema, at), JSON.stringify(schema));
});

test('a schema with very many levels is refused', (t) => {
  const nested = (levels: number): unknown => (levels === 0 ? true : { not: nested(levels - 1) });
  t.notThrows(() => requireJsonSchema(nested(128), at));
  t.throws(() => requireJsonSchema(nested(129), at), {
    code: 'Invalid',
    message: /has more than 128 levels of schemas$/,
  });
});

test('an expression is neither compiled nor matched', (t) => {
  const slow = {
    pattern: '^(a+)+$',
    patternProperties: { '(': {} },
    examples: [`${'a'.repeat(50)}b`],
    default: `${'a'.repeat(50)}b`,
  };
  t.notThrows(() => requireJsonSchema({ allOf: Array.from({ length: 1000 }, () => slow) }, at));
});
