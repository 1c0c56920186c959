type JsonObject = Readonly<Record<string, unknown>>;

/**
 * A field of a graph as JSON Schema. One that takes any value has no type there, and a schema with references, which would lead nowhere from its
 * new place, is left out. A field that callers only read is `readOnly`.
 */
export function fieldSchema({ type, schema = {}, required: _, callers, ...field }: JsonObject): JsonObject {
  const isMovable = !JSON.stringify(schema).includes('"$ref"');
  return {
    ...(isMovable && (schema as JsonObject)),
    ...(type !== 'any' && { type }),
    ...field,
    ...(callers === 'read' && { readOnly: true }),
  };
}
