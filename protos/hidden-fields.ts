/**
 * Whether a field of a state is the graph's own alone. It is kept, copied and brought back with the state, no caller sees or writes it, and no
 * event has it.
 */
export const isHiddenField = (name: string): boolean => name.startsWith('__');

/** The fields of a state that callers see. */
export const shownFields = <T>(fields: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !isHiddenField(name)));
