import { nameOf } from './name-of.ts';

/** What JavaScript lets pass where an object of named members is asked for. @throws Error naming what is given instead. */
export function requireObject(what: string, given: unknown): asserts given is object {
  if (typeof given === 'object' && given !== null && !Array.isArray(given) && !(given instanceof Promise)) return;
  throw new Error(`${what} must be an object, not ${nameOf(given)}`);
}

/** @throws Error naming the first member of `what` that is not known. */
export function refuseUnknown(what: string, place: string, given: object, known: Readonly<Record<string, true>>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const names = Object.keys(known).join(', ');
  const meant = Object.keys(known).find((name) => plain(name) === plain(unknown));
  throw new Error(`${what} has ${place}${unknown}, which is none of ${names}${meant ? `: is ${meant} meant?` : ''}`);
}

/** Libraries spell one name in several ways: `baseURL`, `base_url`. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');
