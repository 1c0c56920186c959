import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What all code of a process shares. The code of an agent, or a package that it loads, may change it for everybody. */
const shared: Readonly<Record<string, object>> = {
  globalThis,
  ...Object.fromEntries(
    (
      [Object, Array, Function, String, Number, Boolean, Symbol, Promise, Map, Set, RegExp, Date, Error] as const
    ).flatMap((own) => [
      [own.name, own],
      [`${own.name}.prototype`, own.prototype as object],
    ]),
  ),
  JSON,
  Math,
  Reflect,
};

/** Globals of which another value changes what our code does; others are added freely. */
const globals = new Set(['fetch', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'structuredClone']);

type Values = ReadonlyMap<PropertyKey, unknown>;
type BuiltIns = ReadonlyMap<string, Values>;

export const readBuiltIns = (): BuiltIns =>
  new Map(Object.entries(shared).map(([name, own]) => [name, valuesOf(name, own)]));

function valuesOf(name: string, own: object): Values {
  const keys = name === 'globalThis' ? [...globals] : Reflect.ownKeys(own);
  return new Map(keys.map((key) => [key, valueAt(own, key)]));
}

/** The value, or the getter: `fetch` is a getter until it is used, and its value is the same then. */
function valueAt(own: object, key: PropertyKey): unknown {
  if (own === globalThis) return Reflect.get(own, key);
  const described: { readonly value?: unknown; readonly get?: unknown } =
    Object.getOwnPropertyDescriptor(own, key) ?? {};
  return described.value ?? described.get;
}

/** The members that are others now, by their names, as `Object.prototype.extend`. */
export function changedSince(before: BuiltIns): readonly string[] {
  return [...readBuiltIns()].flatMap(([name, now]) => {
    const earlier = before.get(name);
    const changed = [...now].filter(([key, value]) => !earlier?.has(key) || !Object.is(earlier.get(key), value));
    const removed = [...(earlier ?? [])].filter(([key]) => !now.has(key));
    return [...changed, ...removed].map(([key]) => `${name}.${String(key)}`);
  });
}

/** The prototypes whose enumerable members every `for … in` meets. */
const inherited: readonly object[] = [Object, Array, Function, String, Number, Boolean].map(
  (own) => own.prototype as object,
);

/**
 * Makes members that were added to the prototypes of everybody's objects not enumerable: they work as before, and no `for … in` of a library
 * meets them in objects of ours.
 */
export function hideInherited(): void {
  for (const prototype of inherited)
    for (const key of Object.keys(prototype)) {
      const own = Object.getOwnPropertyDescriptor(prototype, key);
      if (own?.configurable !== true) continue;
      // A description must not inherit what was added either.
      Object.defineProperty(prototype, key, Object.assign(Object.create(null) as object, own, { enumerable: false }));
    }
}

/**
 * The package, or the file, among these that changed a member, most likely: one that assigns to it, else one that defines it by its name, else
 * one whose text has its name. The service's own files, which agents import, changed nothing.
 */
export function whoNames(member: string, files: readonly string[]): string | undefined {
  const name = member.slice(member.lastIndexOf('.') + 1);
  const texts = files.filter((each) => !isOfService(each)).map((file) => ({ file, text: textOf(file) }));
  const found = [[`${member} = `, `${member}=`], [`'${name}'`, `"${name}"`], [name]]
    .map((signs) => texts.findLast(({ text }) => signs.some((sign) => text.includes(sign))))
    .find((each) => each !== undefined);
  return found && (packageOf(found.file) ?? found.file);
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** In a clone the packages of the service are folders beside `services`, and else those of its scope. */
const isOfService = (file: string): boolean =>
  packageOf(file)?.startsWith('@agent-workflow/') ??
  ['services/', 'gateway/', 'protos/'].some((folder) => file.startsWith(`${root}${folder}`));

const packages = '/node_modules/';

function packageOf(file: string): string | undefined {
  const at = file.lastIndexOf(packages);
  if (at === -1) return undefined;
  const [first = '', second = ''] = file.slice(at + packages.length).split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
