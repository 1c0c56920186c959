import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';

type At = ErrorDetail['field'];
type Check = (value: unknown, at: At) => void;

/** The levels of schemas in each other that are read. */
const maxLevels = 128;
/** The characters of one regular expression. */
const maxPatternLength = 16 * 1024;

/**
 * Checks that a value is a JSON Schema of a version from draft 4 on: its keywords have values that one of these versions allows. Keywords
 * that none of them knows are ignored, as the standard requires. Nothing is compiled and no text is matched: a regular expression is any text,
 * a reference is not followed. So the work grows with the text of the schema alone, whose bytes the caller has bounded. What passes may
 * still take long to check a value by, and refer to what is not there.
 * @throws Invalid naming the place in the schema.
 */
export const requireJsonSchema: Check = (value, at) => refuseBelow(value, at, maxLevels);

function refuseBelow(value: unknown, at: At, levels: number): void {
  if (typeof value === 'boolean') return;
  if (!isObject(value)) throw misfit(at, 'a JSON Schema: an object, true or false');
  if (levels === 0) throw invalid(at, `has more than ${String(maxLevels)} levels of schemas`, 'too_deep');
  const schema: Check = (part, place) => refuseBelow(part, place, levels - 1);
  for (const [keyword, part] of Object.entries(value)) {
    const place = [...at, keyword];
    values.get(keyword)?.(part, place);
    schemas.get(keyword)?.(part, place, schema);
  }
}

/** Checks the schemas that a keyword has, each with `schema`. */
type CheckSchemas = (value: unknown, at: At, schema: Check) => void;

const one: CheckSchemas = (value, at, schema) => schema(value, at);

const several: CheckSchemas = (value, at, schema) => {
  if (!Array.isArray(value) || value.length === 0) throw misfit(at, 'a list of schemas that is not empty');
  for (const [index, part] of value.entries()) schema(part, [...at, index]);
};

/** Before version 2020-12 `items` may be a list. */
const oneOrSeveral: CheckSchemas = (value, at, schema) => {
  (Array.isArray(value) ? several : one)(value, at, schema);
};

const byName: CheckSchemas = (value, at, schema) => {
  if (!isObject(value)) throw misfit(at, 'an object of schemas');
  for (const [name, part] of Object.entries(value)) schema(part, [...at, name]);
};

const byPattern: CheckSchemas = (value, at, schema) => {
  byName(value, at, schema);
  for (const source of Object.keys(value as object)) requirePattern(source, [...at, source]);
};

const schemas: ReadonlyMap<string, CheckSchemas> = new Map<string, CheckSchemas>([
  ...['additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else'].map(
    (name) => [name, one] as const,
  ),
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((name) => [name, several] as const),
  ...['properties', '$defs', 'definitions', 'dependentSchemas'].map((name) => [name, byName] as const),
  ...[['patternProperties', byPattern] as const, ['items', oneOrSeveral] as const],
]);

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const misfit = (at: At, kind: string): Error => invalid(at, `must be ${kind}`, 'type');

const fitting =
  (fits: (value: unknown) => boolean, kind: string): Check =>
  (value, at) => {
    if (!fits(value)) throw misfit(at, kind);
  };

const text = fitting((value) => typeof value === 'string', 'a text');
const flag = fitting((value) => typeof value === 'boolean', 'true or false');
const number = fitting((value) => typeof value === 'number', 'a number');
/** In draft 4 a word beside the bound. */
const numberOrFlag = fitting((value) => typeof value === 'number' || typeof value === 'boolean', 'a number');
const list = fitting(Array.isArray, 'a list');
const count = fitting((value) => Number.isInteger(value) && Number(value) >= 0, 'a whole number from 0 on');
const factor = fitting((value) => typeof value === 'number' && value > 0, 'a number above 0');
const names = fitting(
  (value) => areDifferent(value) && value.every((name) => typeof name === 'string'),
  'a list of different texts',
);

const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const;
const known: ReadonlySet<unknown> = new Set(types);
const type = fitting(
  (value) => known.has(value) || (areDifferent(value) && value.length > 0 && value.every((name) => known.has(name))),
  `one of ${types.join(', ')}, or a list of them`,
);

const areDifferent = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && new Set(value).size === value.length;

/** Whether it is an expression, and how long it takes to match, shows only where it is used, which nobody does but the workers of the agent. */
function requirePattern(value: unknown, at: At): void {
  if (typeof value !== 'string') throw misfit(at, 'a text');
  if (value.length > maxPatternLength)
    throw invalid(at, `must have at most ${String(maxPatternLength)} characters`, 'string_too_long');
}

const values: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...[['type', type] as const, ['required', names] as const, ['pattern', requirePattern] as const],
  ...['$schema', '$id', '$ref', '$comment', 'title', 'description', 'format'].map((name) => [name, text] as const),
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map(
    (name) => [name, count] as const,
  ),
  ...['minimum', 'maximum'].map((name) => [name, number] as const),
  ...['exclusiveMinimum', 'exclusiveMaximum'].map((name) => [name, numberOrFlag] as const),
  ...['uniqueItems', 'readOnly', 'writeOnly'].map((name) => [name, flag] as const),
  ...[['multipleOf', factor] as const, ['enum', list] as const, ['examples', list] as const],
]);
