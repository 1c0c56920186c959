/** The byte sizes of a thread's state as JSON. */
export interface Weight {
  readonly messages: number;
  /** Each field by its name. */
  readonly fields: Readonly<Record<string, number>>;
}

/** The byte size of all fields together. */
export const total = (fields: Weight['fields']): number => Object.values(fields).reduce((sum, bytes) => sum + bytes, 0);
