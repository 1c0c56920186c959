import { reasonOf } from './reason-of.ts';
import { nameOfClass } from './name-of.ts';

/**
 * The value as JSON has it: what JSON does not have is dropped, as `JSON.stringify` drops it. `who` was given it, and `most` is its bound in bytes.
 * @throws TypeError when it is not JSON, holds an object of which JSON keeps nothing, or is nested too deep; RangeError when it is larger. The
 * message names `who`.
 */
export function toJsonValue(value: unknown, who: string, most: number): unknown {
  const json = stringify(value, who);
  const bytes = Buffer.byteLength(json);
  if (bytes > most) throw new RangeError(`${who} was given ${String(bytes)} bytes of JSON, more than ${String(most)}`);
  const lost = lostPlace(value, json, 'value');
  if (lost !== undefined) throw new TypeError(`${who} was given ${lost}`);
  return JSON.parse(json);
}

/**
 * The value as JSON has it, when JSON has all of it.
 * @throws TypeError that names the first place of what JSON would drop or change: `undefined`, a function, a Date, NaN; RangeError when the
 * value is larger than `most` bytes.
 */
export function toStrictJson(value: unknown, who: string, most = Infinity): unknown {
  const fault = jsonFault(value, { path: 'value', within: [] });
  if (fault !== undefined) throw new TypeError(`${who} was given what is not JSON: ${fault}`);
  return toJsonValue(value, who, most);
}

/** @throws TypeError for what is not JSON: also for a cycle and a bigint, which `JSON.stringify` refuses. */
function stringify(value: unknown, who: string): string {
  let cause: unknown;
  try {
    const json = JSON.stringify(value) as string | undefined;
    if (json !== undefined) return json;
  } catch (error) {
    cause = error;
  }
  throw new TypeError(`${who} was given a value that ${whyNoJson(cause, value, 'value')}`, { cause });
}

/**
 * Why `JSON.stringify` made no text of a value, by what it threw, if anything, and at which place of the value, where that is found. At
 * some thousands of levels it overflows the stack.
 */
export function whyNoJson(error: unknown, value: unknown, name: string): string {
  // A text that is too long for a string has no place, either.
  if (error instanceof RangeError) return error.message.includes('call stack') ? 'is nested too deep' : 'is not JSON';
  const fault = refusedPlace(value, name);
  return fault === undefined ? 'is not JSON' : `is not JSON: ${fault}`;
}

/** The place that `JSON.stringify` refused. It is searched for in the order in which that reads, and so never beyond the place. */
function refusedPlace(value: unknown, name: string): string | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return `${name} is ${nameOfType(value)}`;
  // Code of the author runs where members are read, and may do so in another way than before.
  try {
    return refusedIn(value, name, new Set());
  } catch {
    return undefined;
  }
}

function refusedIn(given: unknown, place: string, within: Set<object>): string | undefined {
  const where = place.slice(0, shownPlace);
  let value = given;
  try {
    value = ownJson(given);
  } catch (error) {
    return `toJSON of ${where} failed: ${reasonOf(error).text}`;
  }
  if (typeof value === 'bigint') return `${where} is a bigint`;
  if (typeof value !== 'object' || value === null) return undefined;
  if (within.has(value)) return `${where} is an object that holds itself`;
  within.add(value);
  for (const key of Object.keys(value)) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    // A text for the place of each number of a long list would take longer than the JSON.
    if (typeof member !== 'object' && typeof member !== 'bigint') continue;
    const at = Array.isArray(value) ? `[${key}]` : `.${key.slice(0, shownCharacters)}`;
    const found = refusedIn(member, `${where}${at}`, within);
    if (found !== undefined) return found;
  }
  within.delete(value);
  return undefined;
}

/** What JSON takes for a value: what its `toJSON` gives, if it has one. */
function ownJson(value: unknown): unknown {
  if ((typeof value !== 'object' && typeof value !== 'bigint') || value === null) return value;
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === 'function' ? (toJSON.call(value) as unknown) : value;
}

/** Levels of nesting: far fewer than would overflow the stack. */
const maxDepth = 500;

interface Place {
  readonly path: string;
  /** The objects that hold the value. */
  readonly within: readonly object[];
}

/** The first place of a value that JSON cannot hold, and what is there. */
function jsonFault(value: unknown, place: Place): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${place.path} is ${String(value)}`;
  if (typeof value !== 'object') return `${place.path} is ${nameOfType(value)}`;
  if (place.within.includes(value)) return `${place.path} is an object that holds itself`;
  if (place.within.length >= maxDepth) return `${place.path} is nested more than ${String(maxDepth)} levels deep`;
  const within = [...place.within, value];
  if (Array.isArray(value)) return firstFault(value.entries(), (at) => `${place.path}[${String(at)}]`, within);
  const name = nameOfClass(value);
  if (name !== undefined) return `${place.path} is ${name}`;
  return firstFault(Object.entries(value), (key) => `${place.path}.${String(key)}`, within);
}

function firstFault(
  entries: Iterable<readonly [key: string | number, value: unknown]>,
  toPath: (key: string | number) => string,
  within: readonly object[],
): string | undefined {
  for (const [key, value] of entries) {
    const isPlain = value === null || typeof value === 'string' || typeof value === 'boolean';
    const fault = isPlain ? undefined : jsonFault(value, { path: toPath(key), within });
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const nameOfType = (value: unknown): string => (value === undefined ? 'undefined' : `a ${typeof value}`);

/**
 * The place of a promise that was not awaited: the value itself, or a member directly inside it. JSON would make `{}` of it. What has a JSON
 * of its own is left to it, and deeper levels are not searched, so that the search costs far less than the JSON does.
 */
export function promisePlace(value: unknown, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  // Code of the author may run where members are read. What that throws is reported where the JSON is made.
  try {
    return isPromise(value) ? name : memberPlace(value, name);
  } catch {
    return undefined;
  }
}

function memberPlace(value: object, name: string): string | undefined {
  if (Array.isArray(value)) {
    const at = value.findIndex(isPromise);
    return at < 0 ? undefined : `${name}[${String(at)}]`;
  }
  if (ArrayBuffer.isView(value) || 'toJSON' in value) return undefined;
  // Keys alone: entries of an object with many members take as long as its JSON.
  const found = Object.keys(value).find((key) => isPromise((value as Readonly<Record<string, unknown>>)[key]));
  return found === undefined ? undefined : `${name}.${found.slice(0, shownCharacters)}`;
}

const isPromise = (value: unknown): boolean => typeof value === 'object' && value instanceof Promise;

/**
 * The first object of a value of which JSON keeps nothing, as an error says it: a `Map`, a `Set`, an error, a promise, a `Response`. JSON makes `{}` of each, so
 * that a value is searched only where its JSON holds one. What has a JSON of its own is left to it.
 */
export function lostPlace(value: unknown, json: string, name: string): string | undefined {
  if (!json.includes('{}')) return undefined;
  // Code of the author may run where members are read. It has run without an error when the JSON was made.
  try {
    return lostIn(value, name);
  } catch {
    return undefined;
  }
}

function lostIn(value: unknown, place: string): string | undefined {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return undefined;
  const lost = nameOfEmptied(value);
  // An error may have members that JSON keeps.
  if (lost !== undefined && Object.keys(value).length === 0)
    return `${lost} at ${place.slice(0, shownPlace)}, of which JSON keeps nothing`;
  for (const [key, member] of Object.entries(value)) {
    const at = Array.isArray(value) ? `[${key}]` : `.${key.slice(0, shownCharacters)}`;
    const found = lostIn(member, `${place}${at}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Classes whose objects JSON writes as `{}`, and how an error names them. */
const emptiedClasses = [
  [Map, 'a Map'],
  [Set, 'a Set'],
  [Promise, 'a promise that was not awaited'],
  [Error, 'an Error'],
  [RegExp, 'a RegExp'],
  [ArrayBuffer, 'an ArrayBuffer'],
] as const;

/** Such classes of the web platform, by their tags: their names would load what a process may never need. */
const emptiedTags: ReadonlyMap<string, string> = new Map([
  ['Response', 'a Response, whose body is read by json() or text(),'],
  ['Headers', 'Headers'],
  ['URLSearchParams', 'URLSearchParams'],
  ['FormData', 'a FormData'],
  ['Blob', 'a Blob'],
  ['File', 'a File'],
  ['ReadableStream', 'a ReadableStream'],
]);

function nameOfEmptied(value: object): string | undefined {
  const known = emptiedClasses.find(([of]) => value instanceof of)?.[1];
  if (known !== undefined) return known;
  const { [Symbol.toStringTag]: tag } = value as { readonly [Symbol.toStringTag]?: unknown };
  return typeof tag === 'string' ? emptiedTags.get(tag) : undefined;
}

/** The most characters of a member's name that a message shows. */
const shownCharacters = 100;
/** The most characters of a place at any depth that a message shows. */
const shownPlace = 1000;
