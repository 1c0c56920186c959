import { isObject, isSchema, partsOfSchema, type Keywords, type Schema } from '../schema/keywords.ts';
import type { JsonSchema } from '../state/schema.ts';

/**
 * The parameters of a tool as every provider takes them. One that a provider does not take is refused with all the others of the request: parameters are of
 * type object, have `properties`, and no alternatives and no reference beside them; a list says what its items are. What a model reads of the alternatives is
 * the members of them all; the calls are still checked by the schema as it was given.
 */
export function toSentSchema(parameters: JsonSchema): JsonSchema {
  const known = sent.get(parameters);
  if (known) return known;
  const { $schema: _, ...read } = withItems(toObject(parameters)) as Keywords;
  sent.set(parameters, read);
  return read;
}

/** A question has the same tools as the one before. */
const sent = new WeakMap<JsonSchema, JsonSchema>();

/** What a provider refuses beside the members: OpenAI all of it, Anthropic the alternatives. */
const refused = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'enum', 'const'] as const;

/** How many schemas are read for the members of one. */
const maxRead = 256;

interface Members {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: ReadonlySet<string>;
}

function toObject(root: Keywords): Keywords {
  if (root['type'] === 'object' && isObject(root['properties']) && refused.every((word) => !(word in root)))
    return root;
  let left = maxRead;
  const membersOf = (schema: unknown): Members => {
    if (!isObject(schema) || left === 0) return none;
    left -= 1;
    const own: Members = { properties: propertiesOf(schema), required: namesOf(schema['required']) };
    const target = typeof schema['$ref'] === 'string' ? follow(root, schema['$ref']) : undefined;
    const all = [own, ...[target, ...listOf(schema['allOf'])].map(membersOf)];
    const maybe = [schema['then'], schema['else']].map((part) => ({ ...membersOf(part), required: nothing }));
    const arms = [schema['anyOf'], schema['oneOf']].map((list) => either(listOf(list).map(membersOf)));
    return both([...all, ...maybe, ...arms]);
  };
  const { properties, required } = membersOf(root);
  const isAlone = refused.every((word) => !(word in root));
  const kept = Object.entries(root).filter(
    ([word]) => !refused.some((other) => other === word) && (isAlone || word !== 'additionalProperties'),
  );
  return {
    ...Object.fromEntries(kept),
    ...{ type: 'object', properties },
    ...(required.size > 0 && { required: [...required] }),
  };
}

/** The members of alternatives: what all of them require is required. */
function either(arms: readonly Members[]): Members {
  const [first, ...others] = arms.map(({ required }) => required);
  const always = [...(first ?? [])].filter((name) => others.every((other) => other.has(name)));
  return { properties: both(arms).properties, required: new Set(always) };
}

const nothing: ReadonlySet<string> = new Set();
const none: Members = { properties: {}, required: nothing };

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const namesOf = (value: unknown): ReadonlySet<string> =>
  new Set(listOf(value).filter((name) => typeof name === 'string'));

function propertiesOf({ properties }: Keywords): Members['properties'] {
  if (!isObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).filter((entry): entry is [string, Schema] => isSchema(entry[1])),
  );
}

/** All members: one that several have with different schemas may be of each. */
function both(read: readonly Members[]): Members {
  const found = new Map<string, Map<string, Schema>>();
  for (const { properties } of read)
    for (const [name, schema] of Object.entries(properties)) {
      const different = found.get(name) ?? new Map<string, Schema>();
      found.set(name, different.set(JSON.stringify(schema), schema));
    }
  return {
    properties: Object.fromEntries(Array.from(found, ([name, different]) => [name, anyOf([...different.values()])])),
    required: new Set(read.flatMap(({ required }) => [...required])),
  };
}

const anyOf = (schemas: readonly Schema[]): Schema => {
  const [first = true] = schemas;
  return schemas.length > 1 ? { anyOf: schemas } : first;
};

/** What a reference within the schema leads to. */
function follow(root: Keywords, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Keywords)[name] : undefined;
  }
  return at;
}

/** With the items of each list said, as one schema: an early version has a list of them. */
function withItems(schema: Schema): Schema {
  if (schema === true) return {};
  if (schema === false) return schema;
  const read: Record<string, unknown> = { ...schema };
  for (const [[keyword = '', name], part] of partsOfSchema(schema)) {
    const within = keepsBoolean.has(String(keyword)) && typeof part === 'boolean' ? part : withItems(part);
    if (name === undefined) read[keyword] = within;
    else {
      const before = read[keyword] === schema[keyword] ? copyOf(schema[keyword]) : read[keyword];
      (before as Record<string | number, unknown>)[name] = within;
      read[keyword] = before;
    }
  }
  if (Array.isArray(read['enum']) && read['enum'].length === 0) delete read['enum'];
  return isList(read) ? withOneItem(read) : read;
}

/** There `true` and `false` are words that every provider knows. */
const keepsBoolean: ReadonlySet<string> = new Set(['additionalProperties', 'unevaluatedProperties']);

const copyOf = (value: unknown): unknown =>
  Array.isArray(value) ? [...(value as unknown[])] : { ...(value as Keywords) };

const isList = ({ type, items, prefixItems }: Keywords): boolean =>
  type === 'array' ||
  (Array.isArray(type) && type.includes('array')) ||
  Array.isArray(items) ||
  Array.isArray(prefixItems);

function withOneItem({ items, prefixItems, additionalItems: _, ...rest }: Keywords): Keywords {
  if (!Array.isArray(items) && !Array.isArray(prefixItems)) return { ...rest, items: isObject(items) ? items : {} };
  const first = [prefixItems, items].flatMap(listOf).filter(isSchema);
  const others = isObject(items) && Object.keys(items).length > 0 ? [items] : [];
  const one = anyOf([...first, ...others]);
  return { ...rest, items: one === true ? {} : one };
}
