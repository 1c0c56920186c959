/** A schema: an object of keywords, or true or false. */
export type Schema = boolean | Keywords;
export type Keywords = Readonly<Record<string, unknown>>;

/** What keywords hold, in any version from draft 4 to 2020-12: one schema, a list of them, or schemas by name. */
export const schemaKeywords = {
  one: [
    ...['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames', 'then'],
    ...['unevaluatedItems', 'unevaluatedProperties'],
  ],
  list: ['allOf', 'anyOf', 'oneOf', 'prefixItems'],
  named: ['$defs', 'definitions', 'dependentSchemas', 'dependencies', 'patternProperties', 'properties'],
} as const;

export const isObject = (value: unknown): value is Keywords =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isSchema = (value: unknown): value is Schema => typeof value === 'boolean' || isObject(value);

/** The schemas that stand in a schema, each with the keys that lead to it. */
export function* partsOfSchema(
  schema: Keywords,
): Generator<readonly [path: readonly (string | number)[], part: Schema]> {
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword];
    const kind = keyword === 'items' ? (Array.isArray(value) ? 'list' : 'one') : kinds.get(keyword);
    if (kind === 'one' && isSchema(value)) yield [[keyword], value];
    if (kind === 'list' && Array.isArray(value))
      for (const [index, part] of value.entries()) if (isSchema(part)) yield [[keyword, index], part];
    if (kind === 'named' && isObject(value))
      for (const [name, part] of Object.entries(value)) if (isSchema(part)) yield [[keyword, name], part];
  }
}

const kinds: ReadonlyMap<string, keyof typeof schemaKeywords> = new Map(
  (Object.keys(schemaKeywords) as (keyof typeof schemaKeywords)[]).flatMap((kind) =>
    schemaKeywords[kind].map((name) => [name, kind] as const),
  ),
);
