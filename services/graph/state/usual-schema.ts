/**
 * Whether a schema has the usual keywords alone, each with a value that every version from 2019-09 on allows: the schema of schemas has
 * nothing against it. To compile that one takes 50 ms, which most agents need not wait for when they start.
 */
export function isUsualSchema(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  return (
    isObject(schema) && Object.entries(schema).every(([keyword, value]) => keywords.get(keyword)?.(value) ?? false)
  );
}

type Check = (value: unknown) => boolean;

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => Number.isFinite(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isType: Check = (value) => isText(value) && types.has(String(value));
const areSchemas: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(isUsualSchema);
const areNames: Check = (value) => Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;

const types: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

const versions: ReadonlySet<unknown> = new Set([
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
]);

const keywords: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['$schema', (value) => versions.has(value)],
  ...[['type', isType] as const, ['required', areNames] as const, ['properties', hasSchemas] as const],
  ...['items', 'additionalProperties', 'not'].map((name) => [name, isUsualSchema] as const),
  ...['anyOf', 'oneOf', 'allOf'].map((name) => [name, areSchemas] as const),
  ...['title', 'description', 'format'].map((name) => [name, isText] as const),
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map(
    (name) => [name, isCount] as const,
  ),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((name) => [name, isNumber] as const),
  ...['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'].map((name) => [name, isFlag] as const),
  ...['enum', 'examples'].map((name) => [name, Array.isArray] as const),
  ...['const', 'default'].map((name) => [name, () => true] as const),
]);

function hasSchemas(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isUsualSchema);
}
