import { typeNames, type Constraints } from './constraints.ts';
import { faultOfFormat } from './formats.ts';
import { isSchema } from './references.ts';

/** What is nested deeper in a value is left to the agent. */
const maxDepth = 32;

/** A fault, and where in the value it is: `[0].city`, or `` for the value itself. */
interface Fault {
  readonly path: string;
  readonly text: string;
}

/** What is wrong with a value: a sentence that continues after the name of its field, and names the place inside the value. */
export function faultOf(constraints: Constraints, value: unknown): string | undefined {
  const fault = findFault(constraints, value, 0);
  if (!fault) return undefined;
  return fault.path === '' ? fault.text : `at ${fault.path.replace(/^\./, '')} ${fault.text}`;
}

function findFault(constraints: Constraints, value: unknown, depth: number): Fault | undefined {
  const text = faultOfValue(constraints, value);
  if (text !== undefined) return { path: '', text };
  if (depth >= maxDepth) return undefined;
  return Array.isArray(value) ? findInList(constraints, value, depth) : findInObject(constraints, value, depth);
}

function findInList({ items }: Constraints, list: readonly unknown[], depth: number): Fault | undefined {
  if (!items) return undefined;
  for (const [index, item] of list.entries()) {
    const fault = findFault(items(), item, depth + 1);
    if (fault) return { ...fault, path: `[${String(index)}]${fault.path}` };
  }
  return undefined;
}

function findInObject({ properties }: Constraints, value: unknown, depth: number): Fault | undefined {
  if (!properties || !isSchema(value)) return undefined;
  for (const [name, constraints] of properties) {
    const fault = Object.hasOwn(value, name) ? findFault(constraints(), value[name], depth + 1) : undefined;
    if (fault) return { ...fault, path: `.${name}${fault.path}` };
  }
  return undefined;
}

function faultOfValue(constraints: Constraints, value: unknown): string | undefined {
  const { types, values } = constraints;
  if (types && !types.some((type) => hasType(value, type)))
    return `must be ${types.map((type) => typeNames[type]).join(' or ')}`;
  if (values && !values.some((each) => sortedJson(JSON.parse(each)) === sortedJson(value)))
    return `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
  if (typeof value === 'number') return faultOfNumber(constraints, value);
  if (typeof value === 'string') return faultOfText(constraints, value);
  return Array.isArray(value) ? faultOfList(constraints, value) : faultOfObject(constraints, value);
}

function hasType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  return typeof value === type && (type !== 'object' || isSchema(value));
}

/** The JSON of a value, whatever the order of its properties is. */
const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_name, each: unknown) =>
    isSchema(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each,
  );

function faultOfNumber(constraints: Constraints, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf: step } = constraints;
  if (minimum !== undefined && value < minimum) return `must be at least ${String(minimum)}`;
  if (maximum !== undefined && value > maximum) return `must be at most ${String(maximum)}`;
  if (above !== undefined && value <= above) return `must be more than ${String(above)}`;
  if (below !== undefined && value >= below) return `must be less than ${String(below)}`;
  return step !== undefined && !isMultiple(value, step) ? `must be a multiple of ${String(step)}` : undefined;
}

/** As near as floating point allows: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, step: number): boolean {
  const times = value / step;
  return step <= 0 || Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
}

function faultOfText({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, format }: Constraints, text: string) {
  // JSON Schema counts code points.
  const { length } = Array.from(text);
  if (length < minLength) return `must have at least ${counted(minLength, 'character')}`;
  if (length > maxLength) return `must have at most ${counted(maxLength, 'character')}`;
  return format === undefined ? undefined : faultOfFormat(format, text);
}

function faultOfList(constraints: Constraints, list: readonly unknown[]): string | undefined {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, uniqueItems } = constraints;
  if (list.length < minItems) return `must have at least ${counted(minItems, 'item')}`;
  if (list.length > maxItems) return `must have at most ${counted(maxItems, 'item')}`;
  return uniqueItems && new Set(list.map(sortedJson)).size < list.length ? 'must not hold an item twice' : undefined;
}

function faultOfObject({ required = [] }: Constraints, value: unknown): string | undefined {
  const missing = isSchema(value) ? required.find((name) => !Object.hasOwn(value, name)) : undefined;
  return missing === undefined ? undefined : `must have ${JSON.stringify(missing)}`;
}

const counted = (count: number, noun: string): string => `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
