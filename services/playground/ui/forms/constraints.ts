import { knownFormat } from './formats.ts';
import { isSchema, resolved, type Schema } from './references.ts';

/** What a JSON Schema asks of a value, as far as a form checks it. Each bound holds for values of its type only. */
export interface Constraints {
  readonly types?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly format?: string;
  readonly uniqueItems?: true;
  /** The only values that are taken, as JSON. */
  readonly values?: readonly string[];
  /** What is asked of each item of a list. It is read when it is called, because a schema may hold itself. */
  readonly items?: () => Constraints;
  /** What is asked of the properties of an object, by their names. */
  readonly properties?: ReadonlyMap<string, () => Constraints>;
  /** The properties that an object must have. */
  readonly required?: readonly string[];
}

const bounds = [
  ...(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const),
  ...(['minLength', 'maxLength', 'minItems', 'maxItems'] as const),
];

/** What the types of JSON are called. */
export const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** Reads the constraints of a schema, whose references lead through `root`. What is malformed constrains nothing. */
export function constraintsOf(given: Schema, root: Schema = given): Constraints {
  const schema = resolved(given, root);
  const { items, properties } = schema;
  const types = [schema['type']]
    .flat()
    .filter((type): type is string => typeof type === 'string' && Object.hasOwn(typeNames, type));
  const format = knownFormat(schema['format']);
  const values = valuesOf(schema);
  return {
    ...(types.length > 0 && { types }),
    ...Object.fromEntries(bounds.filter((name) => Number.isFinite(schema[name])).map((name) => [name, schema[name]])),
    ...(format !== undefined && { format }),
    ...(schema['uniqueItems'] === true && { uniqueItems: true }),
    ...(values && { values }),
    ...(isSchema(items) && { items: lazily(() => constraintsOf(items, root)) }),
    ...(isSchema(properties) && { properties: ofEach(properties, root) }),
    ...(Array.isArray(schema['required']) && {
      required: schema['required'].filter((name) => typeof name === 'string'),
    }),
  };
}

const ofEach = (properties: Schema, root: Schema): ReadonlyMap<string, () => Constraints> =>
  new Map(
    Object.entries(properties).flatMap(([name, schema]) =>
      isSchema(schema) ? [[name, lazily(() => constraintsOf(schema, root))] as const] : [],
    ),
  );

function lazily<T>(read: () => T): () => T {
  let value: { readonly read: T } | undefined;
  return () => (value ??= { read: read() }).read;
}

/** The values that a schema lists as the only ones, as JSON. */
function valuesOf({ enum: all, const: only }: Schema): readonly string[] | undefined {
  if (Array.isArray(all) && all.length > 0) return all.map((value) => JSON.stringify(value));
  return only === undefined ? undefined : [JSON.stringify(only)];
}
