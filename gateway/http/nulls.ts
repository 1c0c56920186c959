import type { TSchema } from 'typebox';

/** As much of a JSON Schema as tells which fields may be absent. */
interface Schema {
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly items?: Schema;
  readonly allOf?: readonly { readonly if?: Schema; readonly then?: Schema }[];
  readonly const?: unknown;
}

type Values = Record<string, unknown>;
type Remove = (value: unknown) => void;

/**
 * Removes from a value each field that is null, may be absent, and is named by the schema: null is its absence. A field that
 * takes null, and whatever the schema does not name, keeps it. `undefined` when the schema names no such field.
 */
export function nullRemover(schema: TSchema): Remove | undefined {
  return removerOf(schema);
}

function removerOf({ properties = {}, required = [], items, allOf = [] }: Schema): Remove | undefined {
  const absentable = absentableOf({ properties, required });
  const inner: [string, Remove][] = [];
  for (const [name, field] of Object.entries(properties)) {
    const remove = removerOf(field);
    if (remove) inner.push([name, remove]);
  }
  const removeOfItem = items && removerOf(items);
  const variants = allOf.flatMap((variant) => variantOf(variant));
  if (absentable.size === 0 && inner.length === 0 && !removeOfItem && variants.length === 0) return undefined;
  return (value) => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      if (removeOfItem) for (const item of value as readonly unknown[]) removeOfItem(item);
      return;
    }
    const fields = value as Values;
    for (const name in fields) if (fields[name] === null && absentable.has(name)) Reflect.deleteProperty(fields, name);
    for (const [name, remove] of inner) if (Object.hasOwn(fields, name)) remove(fields[name]);
    for (const { applies, remove } of variants) if (applies(fields)) remove(fields);
  };
}

/** The fields for which null is their absence: each that may be absent and for which null is no value. */
function absentableOf({ properties = {}, required = [] }: Schema): ReadonlySet<string> {
  const fields = Object.entries(properties);
  const mayLack = fields.filter(([name, field]) => !required.includes(name) || 'default' in field);
  return new Set(mayLack.filter(([, field]) => !takesNull(field)).map(([name]) => name));
}

/**
 * The schema of what a caller may send: as given, but with null for each field of which `nullRemover` removes it. `taken` are
 * titles of schemas that hold elsewhere without null; a schema of such a title that changes is named `…Input`.
 */
export function withNulls(schema: object, taken: ReadonlySet<string>): object {
  const given = schema as Schema;
  const absentable = absentableOf(given);
  const changed = {
    ...given,
    ...(given.properties && {
      properties: mapValues(given.properties, (field, name) => {
        const inner = withNulls(field, taken) as Schema;
        return absentable.has(name) ? orNull(inner) : inner;
      }),
    }),
    ...(given.items && { items: withNulls(given.items, taken) }),
    ...(given.allOf && {
      allOf: given.allOf.map((variant) =>
        variant.then ? { ...variant, then: withNulls(variant.then, taken) } : variant,
      ),
    }),
  };
  const { title } = given;
  const isRenamed = title !== undefined && taken.has(title) && JSON.stringify(changed) !== JSON.stringify(given);
  return isRenamed ? { ...changed, title: `${title}Input` } : changed;
}

function orNull(schema: Schema): object {
  const isPlain = schema.type !== undefined && schema.title === undefined && !('enum' in schema || 'const' in schema);
  if (isPlain) return { ...schema, type: [schema.type, 'null'].flat() };
  return { anyOf: [schema, { type: 'null' }], ...('default' in schema && { default: schema.default }) };
}

const mapValues = <T>(object: Readonly<Record<string, T>>, change: (value: T, key: string) => unknown): object =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));

/** What holds for an object of one kind, where a field of it names the kind. */
function variantOf({ if: condition, then }: { readonly if?: Schema; readonly then?: Schema }): {
  applies: (fields: Values) => boolean;
  remove: Remove;
}[] {
  const remove = then && removerOf(then);
  const kinds = Object.entries(condition?.properties ?? {});
  return remove ? [{ applies: (fields) => kinds.every(([name, kind]) => fields[name] === kind.const), remove }] : [];
}

const takesNull = ({ type, anyOf, ...schema }: Schema): boolean =>
  type === undefined && anyOf === undefined
    ? !('enum' in schema || 'const' in schema)
    : [type].flat().includes('null') || (anyOf ?? []).some(takesNull);
