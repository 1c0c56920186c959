export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as an object; an empty one for anything else. */
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
