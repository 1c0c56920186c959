/** As much of a JSON Schema as the schemas of the endpoint table use. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** The smallest value that a schema takes: what is required, and nothing else. */
export function sampleOf(schema: object): unknown {
  const {
    type,
    enum: words,
    properties = {},
    required = [],
    items = {},
    minItems = 0,
    minimum = 0,
    anyOf,
    oneOf,
  } = schema as Schema;
  const variants = anyOf ?? oneOf;
  if (variants) return sampleOf(variants[0] ?? {});
  if (words) return words[0];
  switch (typeof type === 'string' ? type : type?.[0]) {
    case 'object':
      return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {})]));
    case 'array':
      return Array.from({ length: minItems }, () => sampleOf(items));
    case 'integer':
    case 'number':
      return minimum;
    case 'boolean':
      return false;
    default:
      return 'text';
  }
}
