import { isSchema, partsOfSchema, type Keywords, type Schema } from './keywords.ts';

/** The schemas to which each schema with references refers. */
export type References = ReadonlyMap<Keywords, readonly Schema[]>;

/** Where a schema stands: in the resource of the next `$id` above it. */
interface Place {
  readonly base: string;
  readonly root: Keywords;
}

/** The words of a reference; that of 2019-09 and that of 2020-12 are resolved as they stand, not by who came before. */
const referenceWords = ['$ref', '$recursiveRef', '$dynamicRef'] as const;

/** Of schemas without an `$id`; nothing is read from there. */
const nowhere = 'schema:/';

/**
 * Finds what each reference of a schema leads to. Nothing is read from elsewhere: a reference to what is not in the schema leads to nothing, apart
 * from the schemas of schemas themselves, which any value passes here.
 * @throws Error naming a reference that leads to nothing.
 */
export function findReferences(root: Keywords): References {
  const named = new Map<string, Schema>();
  const places = new Map<Keywords, Place>();
  const found = new Map<Keywords, readonly Schema[]>();

  const walk = (schema: Schema, above: Place): void => {
    if (typeof schema === 'boolean' || places.has(schema)) return;
    const place = placeOf(schema, above);
    places.set(schema, place);
    if (place !== above) named.set(place.base, schema);
    for (const anchor of anchorsOf(schema)) named.set(`${place.base}#${anchor}`, schema);
    for (const [, part] of partsOfSchema(schema)) walk(part, place);
  };
  walk(root, { base: nowhere, root });

  const resolve = (reference: string, place: Place): Schema | undefined => {
    const [address = '', fragment = ''] = splitAt(reference, '#');
    const base = address === '' ? place.base : toUrl(address, place.base);
    const resource = address === '' ? place.root : named.get(base);
    if (resource === undefined) return isOfSchemas(base) ? true : undefined;
    if (fragment === '') return resource;
    if (!fragment.startsWith('/')) return named.get(`${base}#${fragment}`);
    // Many writers mean the whole document, also below an `$id`.
    const target = follow(resource, fragment) ?? follow(root, fragment);
    if (target !== undefined) walk(target, place);
    return target;
  };

  for (const schemas = places.entries(); ;) {
    // What a reference leads to may hold others: the map grows meanwhile.
    const next = schemas.next();
    if (next.done) return found;
    const [schema, place] = next.value;
    for (const word of referenceWords) {
      const reference = schema[word];
      if (typeof reference !== 'string') continue;
      const target = resolve(reference, place);
      if (target === undefined)
        throw new Error(`the reference ${JSON.stringify(reference.slice(0, 200))} leads to nothing`);
      found.set(schema, [...(found.get(schema) ?? []), target]);
    }
  }
}

/** In versions before 2019-09 an id that is a fragment names the schema, and begins no resource. */
function anchorsOf({ $anchor, $dynamicAnchor, $id, id }: Keywords): readonly string[] {
  const ids = [$id, id].map((each) => (typeof each === 'string' && each.startsWith('#') ? each.slice(1) : ''));
  return [$anchor, $dynamicAnchor, ...ids].filter((each) => typeof each === 'string' && each !== '') as string[];
}

function placeOf(schema: Keywords, above: Place): Place {
  const id = schema['$id'] ?? schema['id'];
  if (typeof id !== 'string' || id === '' || id.startsWith('#')) return above;
  return { base: splitAt(toUrl(id, above.base), '#')[0] as string, root: schema };
}

function toUrl(address: string, base: string): string {
  return URL.canParse(address, base) ? new URL(address, base).href : `${base}/${address}`;
}

const splitAt = (text: string, mark: string): readonly string[] => {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
};

const isOfSchemas = (address: string): boolean => /^https?:\/\/json-schema\.org\//.test(address);

/** Follows a JSON Pointer. */
function follow(from: Schema, pointer: string): Schema | undefined {
  let at: unknown = from;
  for (const escaped of pointer.split('/').slice(1)) {
    const key = decode(escaped).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return isSchema(at) ? at : undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
