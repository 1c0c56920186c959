import { escaped } from './escaped.ts';
import { renderText } from './markdown.ts';
import { nameIn, type Schema } from './open-api.ts';

type Schemas = Readonly<Record<string, Schema>>;

/** How deep the members of members are shown; what is deeper is named. */
const maxDepth = 5;

interface Place {
  readonly schemas: Schemas;
  /** The names of the schemas around this one: a schema within itself is named, and not shown again. */
  readonly around: readonly string[];
}

/** The members of a schema as a tree: name, type, whether it is required, bounds, what it means. Empty for a schema without members. */
export const schemaTree = (schema: Schema, schemas: Schemas): string => membersTree(schema, { schemas, around: [] });

function membersTree(given: Schema, place: Place): string {
  const { schema, within } = resolved(given, place);
  if (!within) return '';
  if (schema.items) return membersTree(schema.items, within);
  const parts = alternativesOf(schema);
  if (parts.length > 0) return alternativesTree(parts, within);
  const properties = propertiesOf(schema, within);
  const others = schema.additionalProperties;
  if (properties.length === 0) return typeof others === 'object' ? membersTree(others, within) : '';
  return `<ul class="schema">${properties.map((property) => memberOf(property, within)).join('')}</ul>`;
}

/** Alternatives that have members, each below its name; those without are said by the type. */
function alternativesTree(parts: readonly Schema[], place: Place): string {
  const shown = parts.map((part) => ({ part, tree: membersTree(part, place) })).filter(({ tree }) => tree !== '');
  if (shown.length === 1) return shown[0]?.tree ?? '';
  return shown
    .map(({ part, tree }) => `<details><summary>${escaped(typeOf(part, place.schemas))}</summary>${tree}</details>`)
    .join('');
}

interface Property {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** Those of the schema itself, and of all that it is said to be as well. */
function propertiesOf(schema: Schema, place: Place): readonly Property[] {
  const own = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    schema: property,
    isRequired: schema.required?.includes(name) ?? false,
  }));
  const others = (schema.allOf ?? []).flatMap((part) => propertiesOf(resolved(part, place).schema, place));
  return [...own, ...others.filter(({ name }) => !own.some((each) => each.name === name))];
}

function memberOf({ name, schema, isRequired }: Property, place: Place): string {
  const target = resolved(schema, place).schema;
  const description = schema.description ?? target.description;
  const tree = membersTree(schema, place);
  const need = isRequired ? '<span class="need">required</span>' : '';
  const bounds = boundsOf({ ...target, ...schema });
  return `<li><code>${escaped(name)}</code> <span class="type">${escaped(typeOf(schema, place.schemas))}</span>${need}
<div class="note">${description === undefined ? '' : renderText(description)}${bounds === '' ? '' : `<p class="bounds">${bounds}</p>`}</div>
${tree === '' ? '' : `<details><summary>Members of <code>${escaped(name)}</code></summary>${tree}</details>`}</li>
`;
}

/** The schema that a reference leads to. `within` is absent where it would be shown within itself, or too deep. */
function resolved(schema: Schema, place: Place): { readonly schema: Schema; readonly within?: Place } {
  if (schema.$ref === undefined) return { schema, within: place };
  const name = nameIn(schema.$ref);
  const target = place.schemas[name] ?? {};
  const isShown = place.around.length < maxDepth && !place.around.includes(name);
  return { schema: target, ...(isShown && { within: { ...place, around: [...place.around, name] } }) };
}

const alternativesOf = ({ anyOf, oneOf }: Schema): readonly Schema[] => anyOf ?? oneOf ?? [];

/** The type of a schema in a few words: `string`, `Thread[]`, `string or null`. A name stands for what has members alone. */
export function typeOf(schema: Schema, schemas: Schemas): string {
  const named = (each: Schema): string => typeOf(each, schemas);
  if (schema.$ref !== undefined) {
    const name = nameIn(schema.$ref);
    const target = schemas[name];
    return target && isPlain(target) ? named(target) : name;
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const parts = alternativesOf(schema);
  if (parts.length > 0) return [...new Set(parts.map(named))].join(' or ');
  if (schema.type === 'array') return schema.items ? `${withBrackets(named(schema.items))}[]` : 'array';
  const others = schema.additionalProperties;
  if (typeof others === 'object' && !schema.properties) return `object of ${named(others)}`;
  return schema.type ?? (schema.allOf ? schema.allOf.map(named).join(' and ') : 'any');
}

/** Whether a schema is of texts, numbers and truth values alone, so that its name says less than its types. */
const isPlain = (schema: Schema): boolean =>
  ['string', 'number', 'integer', 'boolean', 'null'].includes(schema.type ?? '') ||
  (alternativesOf(schema).length > 0 && alternativesOf(schema).every(isPlain));

const withBrackets = (type: string): string => (type.includes(' ') ? `(${type})` : type);

/** What a value must keep to, and what it is when it is left out. */
export function boundsOf(schema: Schema): string {
  const value = (what: unknown): string => `<code>${escaped(JSON.stringify(what))}</code>`;
  const range = (least: number | undefined, most: number | undefined, unit: string): string[] => {
    const isBounded = most !== undefined && most !== Number.MAX_SAFE_INTEGER;
    if (least !== undefined && isBounded) return [`${least} to ${most.toLocaleString('en')}${unit}`];
    if (isBounded) return [`at most ${most.toLocaleString('en')}${unit}`];
    return least === undefined || least === 0 ? [] : [`at least ${least}${unit}`];
  };
  return [
    ...(schema.enum ? [schema.enum.map(value).join(', ')] : []),
    ...range(schema.minimum, schema.maximum, ''),
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...(schema.format === undefined ? [] : [`format ${escaped(schema.format)}`]),
    ...(schema.pattern === undefined ? [] : [`pattern <code>${escaped(schema.pattern)}</code>`]),
    ...(schema.default === undefined ? [] : [`default ${value(schema.default)}`]),
  ].join(' · ');
}
