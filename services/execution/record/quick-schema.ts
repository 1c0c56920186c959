import { isUsualSchema } from '@agent-workflow/graph/state/usual-schema';
import { partsOf } from '@agent-workflow/graph/state/value-parts';

/** Bounds of a schema that is evaluated here. How long it takes for a value is another question: {@link faultsPerPart}. */
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

/**
 * How long a quick schema takes for one part of a value, at most, as a number of faults that are found: an alternative that does not match
 * is one, which takes as long as many checks without a fault. As nothing refers to another part of the schema, each part of it is applied to
 * a part of a value once.
 */
export function faultsPerPart(schema: unknown): number {
  if (typeof schema === 'boolean') return checkTime;
  const parts = schema as Readonly<Record<string, unknown>>;
  const properties = (parts['properties'] ?? {}) as typeof parts;
  const compared = [parts['required'], parts['enum'], parts['const'], Object.keys(properties)];
  const own = compared.reduce<number>((sum, values) => sum + partsOf(values), 1) * checkTime;
  const inner = ['items', 'additionalProperties'].flatMap((name) => (name in parts ? [parts[name]] : []));
  const within = [...inner, ...Object.values(properties)].map(faultsPerPart);
  const alternatives = alternativesIn(parts).map((each) => 1 + faultsPerPart(each));
  const further = [...((parts['allOf'] ?? []) as readonly unknown[]), ...('not' in parts ? [parts['not']] : [])];
  const beside = [...alternatives, ...further.map(faultsPerPart)].reduce((sum, each) => sum + each, 0);
  return Math.max(own, ...within) + beside;
}

const alternativesIn = (parts: Readonly<Record<string, unknown>>): readonly unknown[] =>
  ['anyOf', 'oneOf'].flatMap((name) => (parts[name] ?? []) as readonly unknown[]);

/** The time of a check without a fault, as a share of that of one with a fault. */
const checkTime = 1 / 16;

/** Whether a value has at most so many levels of objects and arrays. */
const hasLevels = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((part) => hasLevels(part, levels - 1)));
