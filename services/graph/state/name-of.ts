/** What a value is, for the message that refuses it. */
export function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Promise) return 'promise';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The name of the class of an object that is not a plain one. Objects of another realm are plain, too. */
export function nameOfClass(value: object): string | undefined {
  const prototype = Object.getPrototypeOf(value) as ClassParts | null;
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return undefined;
  // The constructor of generators has an empty name.
  const names = [prototype.constructor?.name, prototype[Symbol.toStringTag]];
  const name = names.find((own): own is string => typeof own === 'string' && own !== '');
  return name === undefined ? 'an object of a class' : `an object of class ${name.slice(0, shownCharacters)}`;
}

/** The name of the class of an error; `undefined` for any other value, and for a class whose name is no plain one. */
export function classOfError(thrown: unknown): string | undefined {
  try {
    if (!(thrown instanceof Error)) return undefined;
    const { name } = thrown.constructor;
    return /^[A-Za-z]\w{0,63}$/.test(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

/** What names the class of an object. An author may make a prototype without either. */
interface ClassParts {
  readonly constructor?: { readonly name?: unknown };
  readonly [Symbol.toStringTag]?: unknown;
}

/** The most characters of the name of a class that a message shows. */
const shownCharacters = 100;
