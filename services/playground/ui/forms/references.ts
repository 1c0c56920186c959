export type Schema = Readonly<Record<string, unknown>>;

/** So many references are followed from one schema; what is behind more of them is not read. */
const maxReferences = 16;

export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A schema with what its `$ref` names inside `root`; what stands beside the `$ref` takes precedence. A reference that leads nowhere, out of
 * the document or round in a circle adds nothing.
 */
export function resolved(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let count = 0; count < maxReferences; count++) {
    const { $ref: reference, ...rest } = found;
    if (typeof reference !== 'string') return found;
    const target = at(reference, root);
    found = target ? { ...target, ...rest } : rest;
  }
  const { $ref: _endless, ...rest } = found;
  return rest;
}

/** What a reference such as `#/$defs/city` names: a path through the document, of which an empty one is the document itself. */
function at(reference: string, root: Schema): Schema | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Schema)[name];
  }
  return isSchema(found) ? found : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
