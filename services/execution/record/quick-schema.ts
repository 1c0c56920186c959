import { isUsualSchema } from '@agent-workflow/graph/state/usual-schema';

/** Bounds of a schema that is evaluated here: with them, the time is at most that of this many keywords for each part of a value. */
const [maxBytes, maxDepth] = [4 * 1024, 64];

/** Formats whose expressions of ajv-formats take time in proportion to the text. */
const linearFormats: ReadonlySet<unknown> = new Set(['date', 'date-time', 'time', 'email', 'ipv4', 'url', 'uuid']);

/**
 * Whether a process without the code of an agent evaluates this schema of it. The schema comes from another team, so nothing in it may take
 * long: no regular expression, no reference (a chain of them doubles the work at each link), no comparison of all items with each other,
 * and no keyword that is not known here.
 */
export const isQuickSchema = (schema: unknown): boolean =>
  hasLevels(schema, maxDepth) &&
  Buffer.byteLength(JSON.stringify(schema)) <= maxBytes &&
  isUsualSchema(schema) &&
  isQuickPart(schema);

/** Of a usual schema. */
function isQuickPart(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  const parts = schema as Readonly<Record<string, unknown>>;
  if (parts['uniqueItems'] === true) return false;
  if (parts['format'] !== undefined && !linearFormats.has(parts['format'])) return false;
  const listed = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => (parts[name] ?? []) as readonly unknown[]);
  const single = ['items', 'additionalProperties', 'not'].flatMap((name) => (name in parts ? [parts[name]] : []));
  return [...listed, ...single, ...Object.values((parts['properties'] ?? {}) as typeof parts)].every(isQuickPart);
}

/** Whether a value has at most so many levels of objects and arrays. */
const hasLevels = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((part) => hasLevels(part, levels - 1)));
