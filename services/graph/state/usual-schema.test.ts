import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { default as formats } from 'ajv-formats';
import test from 'ava';
import fc from 'fast-check';
import { z } from 'zod';
import { isUsualSchema } from './usual-schema.ts';

const compilers = [new Ajv2019({ strict: false, logger: false }), new Ajv2020({ strict: false, logger: false })];
for (const ajv of compilers) formats.default(ajv);

const keyword = fc.constantFrom(
  ...['type', 'required', 'properties', 'items', 'additionalProperties', 'not', 'anyOf', 'oneOf', 'allOf', 'title'],
  ...['description', 'format', 'minLength', 'maxItems', 'minProperties', 'minimum', 'exclusiveMaximum', 'uniqueItems'],
  ...['deprecated', 'enum', 'examples', 'const', 'default', 'pattern', '$ref', '$id', '$schema', 'unknown'],
);
const { schema } = fc.letrec<{ readonly schema: unknown; readonly value: unknown }>((tie) => ({
  schema: fc.oneof({ depthSize: 'small' }, fc.boolean(), fc.dictionary(keyword, tie('value'), { maxKeys: 4 })),
  value: fc.oneof(
    { depthSize: 'small' },
    ...[fc.constantFrom('string', 'object', 'null', 'text'), fc.integer({ min: -2, max: 3 }), fc.double()],
    ...[fc.boolean(), fc.constant(null), fc.constant(undefined), fc.array(fc.constantFrom('a', 'b', 1))],
    ...[tie('schema'), fc.array(tie('schema'), { maxLength: 3 }), fc.dictionary(fc.string(), tie('schema'))],
  ),
}));

test('the schema of schemas has nothing against a usual schema', (t) => {
  let usual = 0;
  const property = fc.property(schema, (given) => {
    if (!isUsualSchema(given)) return;
    usual += 1;
    for (const ajv of compilers) t.true(ajv.validateSchema(given as object), JSON.stringify(given));
  });
  fc.assert(property, { numRuns: 5000 });
  t.true(usual > 500, `${String(usual)} of them were usual`);
});

test('what tools and fields mostly have is usual', (t) => {
  const step = { type: 'object', properties: { text: { type: 'string', minLength: 1 } }, required: ['text'] };
  t.true(isUsualSchema({ type: 'array', items: step, maxItems: 9, default: [] }));
  t.true(isUsualSchema(z.toJSONSchema(z.object({ city: z.string().optional(), days: z.int() }))));
  t.true(isUsualSchema({ anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }], description: 'A letter' }));
});

test('what has a fault, or a keyword that takes more to check, is not usual', (t) => {
  const unusual = [
    ...[
      { type: 'text' },
      { type: ['string'] },
      { required: ['a', 'a'] },
      { minLength: -1 },
      { maximum: NaN },
      { anyOf: [] },
    ],
    ...[{ pattern: 'a' }, { $ref: '#' }, { properties: { a: { type: 1 } } }, { minLength: undefined }, null, [], 'a'],
  ];
  for (const one of unusual) t.false(isUsualSchema(one), JSON.stringify(one));
});
