import { isServiceError } from '@agent-workflow/kit/errors';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import { requireJsonSchema } from '@agent-workflow/protos/json-schema';
import { compile } from './compile.ts';
import { createPattern } from './pattern.ts';
import { isObject, isSchema, schemaKeywords, type Keywords } from './keywords.ts';
import { isKnownVersion } from './versions.ts';

/**
 * Reads a schema of a tool that somebody else wrote, a server or a caller, as a schema of today: what is null or has no meaning is left out, and what
 * drafts 3 and 4 or other dialects write in another way is written as 2020-12 has it. No schema means any arguments.
 * @throws Error that says why no value can be checked by it.
 */
export function readForeignSchema(given: unknown): Keywords {
  if (given === undefined || given === null || given === true) return anyArguments;
  if (!isObject(given))
    throw new Error(`the schema must be an object, not ${Array.isArray(given) ? 'a list' : typeof given}`);
  requireLevels(given, sizes.depth);
  const bytes = Buffer.byteLength(JSON.stringify(given));
  if (bytes > sizes.toolSchema) throw new Error(`the schema has ${bytesOver(bytes, sizes.toolSchema)}`);
  const read = readObject(given);
  const schema = 'type' in read || isComposed(read) ? read : { type: 'object', ...read };
  refuseOtherTypes(schema);
  try {
    requireJsonSchema(schema, ['the schema']);
  } catch (error) {
    if (isServiceError(error)) throw new Error(error.message, { cause: error });
    throw error;
  }
  compile(schema);
  return schema;
}

const anyArguments: Keywords = { type: 'object', properties: {} };

/** Providers want the arguments to be an object; one that says so elsewhere is left as it is. */
const isComposed = (schema: Keywords): boolean =>
  ['$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in schema);

/** Arguments are always an object. */
function refuseOtherTypes({ type }: Keywords): void {
  const types = Array.isArray(type) ? (type as readonly unknown[]) : [type];
  if (type !== undefined && !types.includes('object'))
    throw new Error(`the schema must be of an object, not of type ${types.join(' or ')}`);
}

function requireLevels(value: unknown, levels: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) throw new Error(`the schema has more than ${String(sizes.depth)} levels`);
  for (const part of Object.values(value)) requireLevels(part, levels - 1);
}

const one: ReadonlySet<string> = new Set(schemaKeywords.one);
const list: ReadonlySet<string> = new Set(schemaKeywords.list);
const named: ReadonlySet<string> = new Set(schemaKeywords.named);

/** What keywords of values hold stays as it is, null too. */
const values: ReadonlySet<string> = new Set(['const', 'default', 'example']);

const readAny = (schema: unknown): unknown => (isObject(schema) ? readObject(schema) : schema);

function readObject(schema: Keywords): Keywords {
  const read: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (values.has(keyword)) read[keyword] = value;
    else if (value !== null && value !== undefined) readKeyword(read, keyword, value);
  }
  return withRequired(withBounds(read), schema);
}

function readKeyword(read: Record<string, unknown>, keyword: string, value: unknown): void {
  if (one.has(keyword) && isSchema(value)) read[keyword] = readAny(value);
  else if (keyword === 'items' && (isSchema(value) || Array.isArray(value)))
    read[keyword] = Array.isArray(value) ? value.filter(isSchema).map(readAny) : readAny(value);
  else if (list.has(keyword)) readList(read, keyword, value);
  else if (named.has(keyword)) readNamed(read, keyword, value);
  else if (isObject(value) && !Object.hasOwn(readers, keyword)) read[keyword] = readAny(value);
  else {
    const meant = Object.hasOwn(readers, keyword) ? readers[keyword]?.(value) : value;
    if (meant !== undefined) read[keyword] = meant;
  }
}

/** An empty list of alternatives is none. */
function readList(read: Record<string, unknown>, keyword: string, value: unknown): void {
  const schemas = Array.isArray(value) ? value.filter(isSchema) : [];
  if (schemas.length > 0) read[keyword] = schemas.map(readAny);
}

function readNamed(read: Record<string, unknown>, keyword: string, value: unknown): void {
  if (!isObject(value)) return;
  const entries = Object.entries(value).filter(
    ([, part]) => isSchema(part) || (keyword === 'dependencies' && Array.isArray(part)),
  );
  read[keyword] = Object.fromEntries(entries.map(([name, part]) => [name, readAny(part)]));
}

type Reader = (value: unknown) => unknown;

const typeNames: Readonly<Record<string, string>> = {
  ...{ string: 'string', str: 'string', text: 'string', number: 'number', float: 'number', double: 'number' },
  ...{ integer: 'integer', int: 'integer', long: 'integer', boolean: 'boolean', bool: 'boolean' },
  ...{ object: 'object', dict: 'object', map: 'object', array: 'array', list: 'array', null: 'null', none: 'null' },
};

/** A type of no version, as `any`, says nothing; `STRING` of Gemini is a text. */
function readType(value: unknown): unknown {
  const names = (Array.isArray(value) ? value : [value]).map((name) => {
    const lower = typeof name === 'string' ? name.toLowerCase() : '';
    return Object.hasOwn(typeNames, lower) ? typeNames[lower] : undefined;
  });
  if (names.length === 0 || names.includes(undefined)) return undefined;
  const different = [...new Set(names)];
  return Array.isArray(value) ? different : different[0];
}

const readNames: Reader = (value) =>
  Array.isArray(value) ? [...new Set(value.filter((name) => typeof name === 'string'))] : undefined;
const readCount: Reader = (value) => {
  const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return Number.isInteger(count) && Number(count) >= 0 ? count : undefined;
};
const readNumber: Reader = (value) => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return Number.isFinite(number) ? number : undefined;
};
const readBound: Reader = (value) => (typeof value === 'boolean' ? value : readNumber(value));
const readText: Reader = (value) => (typeof value === 'string' ? value : undefined);
const readValues: Reader = (value) => (Array.isArray(value) ? value : undefined);
const readFlag: Reader = (value) => (typeof value === 'boolean' ? value : undefined);

const readers: Readonly<Record<string, Reader>> = {
  type: readType,
  required: readNames,
  ...Object.fromEntries(
    ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map((name) => [
      name,
      readCount,
    ]),
  ),
  ...{ minContains: readCount, maxContains: readCount, minimum: readNumber, maximum: readNumber },
  ...{ exclusiveMinimum: readBound, exclusiveMaximum: readBound },
  multipleOf: (value) => (Number(readNumber(value)) > 0 ? readNumber(value) : undefined),
  ...Object.fromEntries(
    ['$id', '$ref', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', 'pattern', 'format', 'title'].map(
      (name) => [name, readText],
    ),
  ),
  ...{
    description: readText,
    $comment: readText,
    $schema: (value: unknown) => (isKnownVersion(value) ? value : undefined),
  },
  ...{ uniqueItems: readFlag, readOnly: readFlag, writeOnly: readFlag, nullable: readFlag },
  ...{ enum: readValues, examples: readValues },
};

/** In draft 4 an exclusive bound is a word beside the bound. */
function withBounds({ exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...rest }: Keywords): Keywords {
  return { ...rest, ...boundOf('inimum', minimum, exclusiveMinimum), ...boundOf('aximum', maximum, exclusiveMaximum) };
}

function boundOf(word: 'inimum' | 'aximum', inclusive: unknown, exclusive: unknown): Keywords {
  const isExclusive = exclusive === true && inclusive !== undefined;
  const given = isExclusive ? inclusive : typeof exclusive === 'boolean' ? undefined : exclusive;
  return {
    ...(inclusive !== undefined && !isExclusive && { [`m${word}`]: inclusive }),
    ...(given !== undefined && { [`exclusiveM${word}`]: given }),
  };
}

/** In draft 3 a member says of itself that it is required. */
function withRequired(read: Keywords, given: Keywords): Keywords {
  const members = isObject(given['properties']) ? Object.entries(given['properties']) : [];
  const own = members.flatMap(([name, part]) => (isObject(part) && part['required'] === true ? [name] : []));
  if (own.length === 0) return read;
  const before = Array.isArray(read['required']) ? (read['required'] as readonly unknown[]) : [];
  return { ...read, required: [...new Set([...before, ...own])] };
}

/** The schema without the patterns that cannot be used here, for one whose values something else checks too. */
export function withoutUnusablePatterns(schema: Keywords): Keywords {
  const entries = Object.entries(schema).filter(([keyword, value]) => keyword !== 'pattern' || isUsable(value));
  return Object.fromEntries(
    entries.map(([keyword, value]) => [keyword, values.has(keyword) ? value : withinValue(value)]),
  );
}

const withinValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withinValue);
  return isObject(value) ? withoutUnusablePatterns(value) : value;
};

/** Also of a member that is named `pattern`, whose value is a schema. */
function isUsable(value: unknown): boolean {
  if (typeof value !== 'string') return true;
  try {
    createPattern(value);
    return true;
  } catch {
    return false;
  }
}
