import { descriptionOfUse } from '../schemas/common.ts';

/** A JSON object of the document. */
export type Json = Record<string, unknown>;

/** Title to schema: what `#/components/schemas/…` points at. */
export type Components = Record<string, Json>;

const listsOfSchemas = new Set(['anyOf', 'allOf', 'oneOf']);
const schemas = new Set(['items', 'additionalProperties', 'if', 'then', 'else', 'not']);

/**
 * A schema as part of the document: every titled schema in it moves to `components` and is replaced by a reference.
 * A field that has a default is not required of the caller.
 */
export function hoist(schema: object, components: Components): Json {
  const { title, ...rest } = schema as Json;
  if (typeof title !== 'string') return inner(rest, components);
  components[title] ??= inner(rest, components);
  const { [descriptionOfUse]: description } = schema as { readonly [descriptionOfUse]?: string };
  return { $ref: `#/components/schemas/${title}`, ...(description !== undefined && { description }) };
}

/** The titles of a schema and of all that it holds. */
export function* titlesIn(schema: unknown): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return;
  if ('title' in schema && typeof schema.title === 'string') yield schema.title;
  for (const part of Object.values(schema)) yield* titlesIn(part);
}

function inner(schema: Json, components: Components): Json {
  const hoisted: Json = Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => {
      const given = key === 'required' ? requiredOf(schema) : member(key, value, components);
      return given === undefined ? [] : [[key, given]];
    }),
  );
  return orNullDescribed(oneTypeEach(hoisted));
}

/** The keywords that are about values of one type. */
const ofType: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum'],
  array: ['items', 'minItems', 'maxItems'],
};

/** A schema of several types as one of each, with what it says of that type: generators of clients know no other form. */
function oneTypeEach({ type, ...schema }: Json): Json {
  if (!Array.isArray(type)) return type === undefined ? schema : { type, ...schema };
  const parts = (type as string[]).map((each) => ({
    type: each,
    ...Object.fromEntries(Object.entries(schema).filter(([key]) => ofType[each]?.includes(key))),
  }));
  const typed = new Set((type as string[]).flatMap((each) => ofType[each] ?? []));
  return { anyOf: parts, ...Object.fromEntries(Object.entries(schema).filter(([key]) => !typed.has(key))) };
}

/** A schema or null: the description of the schema is that of both. */
function orNullDescribed(schema: Json): Json {
  const { anyOf, description: own } = schema as { readonly anyOf?: readonly Json[]; readonly description?: string };
  const [given, none, ...others] = anyOf ?? [];
  if (own !== undefined || !given || none?.['type'] !== 'null' || others.length > 0) return schema;
  const { description, ...rest } = given;
  return description === undefined ? schema : { ...schema, description, anyOf: [rest, none] };
}

function member(key: string, value: unknown, components: Components): unknown {
  if (key === 'properties') return mapValues(value as Json, (schema) => hoist(schema as object, components));
  if (listsOfSchemas.has(key)) return (value as object[]).map((schema) => hoist(schema, components));
  if (schemas.has(key) && typeof value === 'object' && value !== null) return hoist(value, components);
  return value;
}

/** The fields that a caller must give. */
export function requiredOf(schema: object): readonly string[] | undefined {
  const { required = [], properties = {} } = schema as Json;
  const names = (required as string[]).filter((name) => !hasDefault((properties as Json)[name]));
  return names.length > 0 ? names : undefined;
}

const hasDefault = (schema: unknown): boolean => typeof schema === 'object' && schema !== null && 'default' in schema;

const mapValues = (object: Json, change: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
