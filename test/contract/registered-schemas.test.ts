import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import fc from 'fast-check';
import { isServiceError } from '@agent-workflow/kit/errors';
import { refuseDefinition } from '@agent-workflow/protos/definition-checks';

const options = { strict: false, logger: false, validateFormats: false } as const;
const compilers = [new Ajv(options), new Ajv2019(options), new Ajv2020(options)];

const keyword = fc.constantFrom(
  ...['type', 'required', 'properties', 'items', 'additionalProperties', 'not', 'anyOf', 'oneOf', 'allOf', 'title'],
  ...['description', 'format', 'minLength', 'maxItems', 'minProperties', 'minimum', 'exclusiveMaximum', 'uniqueItems'],
  ...['deprecated', 'enum', 'examples', 'const', 'default', 'pattern', '$ref', 'unknown', 'patternProperties', 'if'],
  ...['then', 'contains', 'propertyNames', '$defs', 'definitions', 'multipleOf', 'readOnly', 'dependentSchemas'],
);
const { schema } = fc.letrec<{ readonly schema: unknown; readonly value: unknown }>((tie) => ({
  schema: fc.oneof({ depthSize: 'small' }, fc.boolean(), fc.dictionary(keyword, tie('value'), { maxKeys: 4 })),
  value: fc.oneof(
    { depthSize: 'small' },
    ...[fc.constantFrom('string', 'object', 'null', 'text', '^a+$'), fc.integer({ min: -2, max: 3 }), fc.double()],
    ...[fc.boolean(), fc.constant(null), fc.array(fc.constantFrom('a', 'b', 1)), tie('schema')],
    ...[fc.array(tie('schema'), { maxLength: 3 }), fc.dictionary(fc.constantFrom('a', 'b', '^c'), tie('schema'))],
  ),
}));

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Whether a field may be registered with the schema. */
function isRegistered(given: unknown): boolean {
  const fieldsJson = bytes({ a: { type: 'any', schema: given } });
  try {
    const rest = { toolsJson: bytes([]), nodes: [], codeFields: { reduced: [], checked: [] } };
    refuseDefinition({ graphJson: bytes({ nodes: [], edges: [] }), fieldsJson, ...rest });
    return true;
  } catch (error) {
    if (isServiceError(error, 'Invalid')) return false;
    throw error;
  }
}

/** Keywords that the oldest version does not know, and so allows with any value. */
const newer = /"(\$defs|dependentSchemas)"/;

test('a schema that is one in some version can be registered; most that are one in none cannot', (t) => {
  const counts = { allowed: 0, refused: 0, missed: 0 };
  const property = fc.property(schema, (random) => {
    const given: unknown = JSON.parse(JSON.stringify(random));
    if (typeof given !== 'object' || given === null) return;
    const [oldest, ...others] = compilers.map((ajv) => ajv.validateSchema(given) === true);
    if (others.includes(true) || (oldest === true && !newer.test(JSON.stringify(given)))) {
      counts.allowed += 1;
      t.true(isRegistered(given), JSON.stringify(given));
    } else if (oldest === false) counts[isRegistered(given) ? 'missed' : 'refused'] += 1;
  });
  fc.assert(property, { numRuns: 5000 });
  t.true(counts.allowed > 500 && counts.refused > 500 && counts.missed < 20, JSON.stringify(counts));
});
