/** Of a list of differences, the first are enough to find the cause. */
const maxDifferences = 10;

/**
 * How a value differs from the one that is expected: a line for each place, as `state.values.total is 3, not 2`. Sets and maps are
 * compared as lists. Empty when they are the same.
 */
export function differences(path: string, value: unknown, expected: unknown): readonly string[] {
  return within(path, toPlain(value), toPlain(expected)).slice(0, maxDifferences);
}

function within(path: string, value: unknown, expected: unknown): readonly string[] {
  if (Object.is(value, expected)) return [];
  if (!isObject(value) || !isObject(expected) || Array.isArray(value) !== Array.isArray(expected))
    return [`${path} is ${shown(value)}, not ${shown(expected)}`];
  const keys = [...new Set([...Object.keys(expected), ...Object.keys(value)])];
  const found: string[] = [];
  for (const key of keys) {
    found.push(...within(placeOf(path, value, key), toPlain(value[key]), toPlain(expected[key])));
    if (found.length >= maxDifferences) return found;
  }
  return found;
}

const placeOf = (path: string, value: object, key: string): string =>
  Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function toPlain(value: unknown): unknown {
  if (value instanceof Map || value instanceof Set) return [...(value as Iterable<unknown>)];
  return value instanceof Date ? value.toISOString() : value;
}

const maxShown = 120;

function shown(value: unknown): string {
  if (value === undefined) return 'absent';
  const json = (JSON.stringify(value) as string | undefined) ?? typeof value;
  return json.length > maxShown ? `${json.slice(0, maxShown)} …` : json;
}
