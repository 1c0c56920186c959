import type { TSchema, Type as TypeBox } from 'typebox';

/** Marks a schema as that of a property which may be absent. Not enumerable, so that no document and no check sees it. */
const optional = '~optional';

const isOptional = (schema: TSchema): boolean => Object.hasOwn(schema, optional);

type Options = Readonly<Record<string, unknown>>;

const builders = {
  Array: (items: TSchema, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Options) => ({ type: 'boolean', ...options }),
  Integer: (options?: Options) => ({ type: 'integer', ...options }),
  Literal: (value: string | number | boolean, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Number: (options?: Options) => ({ type: 'number', ...options }),
  Object: (properties: Readonly<Record<string, TSchema>>, options?: Options) => {
    const required = Object.keys(properties).filter((name) => !isOptional(properties[name] ?? {}));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: TSchema) => Object.defineProperty({ ...schema }, optional, { value: true }),
  String: (options?: Options) => ({ type: 'string', ...options }),
  Unknown: (options?: Options) => ({ ...options }),
  Unsafe: (schema: TSchema) => ({ ...schema }),
};

/**
 * The builders of TypeBox that schemas here use, with its types. TypeBox itself is 373 files, a third of all that the single process loads
 * at its start, because it can only be imported whole.
 */
export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;
