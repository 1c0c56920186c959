/**
 * Whether a value has the mark of a class. A mark is a symbol that all copies of a package share (`Symbol.for`): an agent may bring
 * a copy of its own, and `instanceof` knows the classes of one copy alone.
 */
export function hasMark(value: unknown, mark: symbol): boolean {
  try {
    return typeof value === 'object' && value !== null && mark in value;
  } catch {
    // A proxy may refuse every access.
    return false;
  }
}
