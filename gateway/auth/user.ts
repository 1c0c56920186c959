import { types } from 'node:util';
import { ownerOf } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Principal } from '../http/context.ts';

interface Copying {
  /** Bytes of JSON that may still come, counted with at most as many as JSON has. */
  left: number;
  readonly most: number;
}

interface Place {
  /** Names and positions from the value down. */
  readonly path: string;
  readonly depth: number;
}

/**
 * A value of somebody else as plain JSON data: its own enumerable members, a Date as ISO text. Members that are undefined, functions or symbols are
 * left out. No code of the value runs, so that it is read once and as it is now.
 * @throws TypeError for what JSON would change or what is not a member of its own: accessors, proxies, members that a class has, objects of built-in
 * classes other than Date, empty objects of any other class, numbers that are not finite, bigints, lists with something else than data, the key
 * `__proto__`, more than `sizes.depth` levels, and more than `most` bytes. The message has the kind and the place, which begins with `name`.
 */
function plainCopy(value: unknown, name: string, most: number): unknown {
  const copy = copyOf(value, { path: name, depth: 1 }, { left: most, most });
  if (Buffer.byteLength(JSON.stringify(copy)) > most) throw tooLarge(most);
  return copy;
}

function copyOf(value: unknown, place: Place, copying: Copying): unknown {
  switch (typeof value) {
    case 'string':
      spend(value.length, copying);
      return value;
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw misfit(place, String(value));
      // JSON has no minus zero.
      return value === 0 ? 0 : value;
    case 'object':
      return value === null ? null : copyOfObject(value, place, copying);
    default:
      throw misfit(place, value === undefined ? 'undefined' : `a ${typeof value}`);
  }
}

function copyOfObject(value: object, place: Place, copying: Copying): unknown {
  if (types.isProxy(value)) throw misfit(place, 'a Proxy');
  if (place.depth > sizes.depth) throw new TypeError(`it is nested more than ${String(sizes.depth)} levels deep`);
  if (types.isDate(value)) return textOf(value, place);
  return Array.isArray(value) ? copyOfList(value, place, copying) : copyOfMembers(value, place, copying);
}

/** By the time that the Date holds, whatever methods its class has. */
function textOf(date: Date, place: Place): string {
  const ms = Date.prototype.getTime.call(date);
  if (Number.isNaN(ms)) throw misfit(place, 'an invalid Date');
  return new Date(ms).toISOString();
}

function copyOfList(list: readonly unknown[], place: Place, copying: Copying): unknown[] {
  const copy: unknown[] = [];
  for (let index = 0; index < list.length; index += 1) {
    spend(1, copying);
    const at = below(place, String(index));
    const item = Object.getOwnPropertyDescriptor(list, index);
    if (!item) throw misfit(at, 'a hole');
    if (!('value' in item)) throw misfit(at, 'an accessor');
    copy.push(copyOf(item.value, at, copying));
  }
  return copy;
}

function copyOfMembers(value: object, place: Place, copying: Copying): Readonly<Record<string, unknown>> {
  refuseClass(value, place);
  const members: [name: string, copy: unknown][] = [];
  for (const [name, member] of ownMembers(value)) {
    if (!('value' in member)) throw misfit(below(place, name), 'an accessor');
    if (name === '__proto__') throw new TypeError(`${place.path} has the key __proto__`);
    if (!member.enumerable || leftOut.has(typeof member.value)) continue;
    spend(name.length + 1, copying);
    members.push([name, copyOf(member.value, below(place, name), copying)]);
  }
  if (members.length === 0 && !isPlain(value))
    throw misfit(place, `an object of ${classOf(value)}, without a member of its own`);
  return Object.fromEntries(members);
}

/** What `JSON.stringify` leaves out of an object. */
const leftOut: ReadonlySet<string> = new Set(['undefined', 'function', 'symbol']);

type Member = readonly [name: string, member: PropertyDescriptor];

function ownMembers(value: object): readonly Member[] {
  return Object.getOwnPropertyNames(value).flatMap((name): readonly Member[] => {
    const member = Object.getOwnPropertyDescriptor(value, name);
    return member ? [[name, member]] : [];
  });
}

/** Refuses an object that is more than its own members: one of a built-in class, or one whose class gives it further members than methods. */
function refuseClass(value: object, place: Place): void {
  const behind = prototypesOf(value);
  if (behind.some(types.isProxy)) throw misfit(place, 'an object behind which is a Proxy');
  if (isBuiltIn(value, behind)) throw misfit(place, `an object of ${classOf(value)}`);
  for (const [name, member] of behind.flatMap(ownMembers)) {
    if (!('value' in member)) throw misfit(below(place, name), `an accessor of ${classOf(value)}`);
    if (typeof member.value !== 'function')
      throw misfit(place, `an object of ${classOf(value)}, which itself has the member ${shown(name)}`);
  }
}

/** Most built-in classes, and those of the web, have a tag. */
function isBuiltIn(value: object, behind: readonly object[]): boolean {
  if (types.isRegExp(value) || types.isBoxedPrimitive(value) || behind.includes(Error.prototype)) return true;
  return [value, ...behind].some((each) => Object.hasOwn(each, Symbol.toStringTag));
}

/** The classes of an object, nearest first, without the one that all have. It ends at a proxy, which would be asked for more. */
function prototypesOf(value: object): readonly object[] {
  const found: object[] = [];
  for (let each = prototypeOf(value); each !== null && each !== Object.prototype; each = prototypeOf(each)) {
    found.push(each);
    if (types.isProxy(each)) break;
  }
  return found;
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;

const isPlain = (value: object): boolean => {
  const prototype = prototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

/** Says of which class an object is, without running code of it. */
function classOf(value: object): string {
  const prototype = prototypeOf(value) ?? {};
  const constructor: unknown = dataOf(prototype, 'constructor');
  const name = typeof constructor === 'function' ? dataOf(constructor, 'name') : undefined;
  return typeof name === 'string' && name !== '' ? `class ${shown(name)}` : 'a class';
}

function dataOf(value: object, name: string): unknown {
  return types.isProxy(value) ? undefined : (Object.getOwnPropertyDescriptor(value, name)?.value as unknown);
}

function spend(bytes: number, copying: Copying): void {
  copying.left -= bytes;
  if (copying.left < 0) throw tooLarge(copying.most);
}

const tooLarge = (most: number): TypeError => new TypeError(`it has more than ${String(most)} bytes as JSON`);

const below = ({ path, depth }: Place, name: string): Place => ({
  path: shown(`${path}.${shown(name)}`),
  depth: depth + 1,
});

const misfit = ({ path }: Place, what: string): TypeError => new TypeError(`${path} is ${what}`);

/** Characters of a name, and of a path, that a message shows. */
const shownCharacters = 100;
const shown = (text: string): string => (text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`);

const maxLength = 256;

/** Characters that are invisible or that could end a text in a store or a log: two ids must not look or be stored alike. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Whose ids the users of an issuer, or of a backend, have. */
export interface Namespace {
  /** Stands before each id, and a colon between; empty: ids are as they come. */
  readonly prefix: string;
  /** Prefixes of others: no id that comes without a prefix begins with one and a colon. */
  readonly others: readonly string[];
}

const wholeNamespace: Namespace = { prefix: '', others: [] };

/**
 * The principal of a user context: `user_id`, else `sub`, a string of 1 to 256 characters without invisible ones and without
 * surrounding space, or a safe integer, which counts as its decimal text. Where ids have a prefix, `user_id` of the context is the id with it.
 * `undefined` when there is no such id, or it is one of another namespace.
 */
export function principalOf(
  user: Readonly<Record<string, unknown>>,
  { prefix, others }: Namespace = wholeNamespace,
): Principal | undefined {
  const id = idText(ownMember(user, 'user_id') ?? ownMember(user, 'sub'));
  if (id === undefined) return undefined;
  if (prefix === '')
    return others.some((other) => id.startsWith(`${other}:`)) ? undefined : { owner: ownerOf(id), user };
  const prefixed = idText(`${prefix}:${id}`);
  return prefixed === undefined ? undefined : { owner: ownerOf(prefixed), user: { ...user, user_id: prefixed } };
}

/** What a package adds to the prototype of all objects is nobody's id. */
const ownMember = (user: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(user, name) ? user[name] : undefined;

/** The plain copy of a user context. It is stored with every run of the caller. @throws what `plainCopy` throws. */
export const userCopy = (user: unknown): unknown => plainCopy(user, 'the user', sizes.metadata);

function idText(id: unknown): string | undefined {
  if (typeof id === 'number') return Number.isSafeInteger(id) ? String(id) : undefined;
  if (typeof id !== 'string' || id === '' || id.length > maxLength) return undefined;
  return invisible.test(id) || id.trim() !== id ? undefined : id;
}
