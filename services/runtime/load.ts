import { existsSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { basename, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { changedSince, hideInherited, readBuiltIns, whoNames } from './built-ins.ts';
import { placeOfError, placeOfExport } from './code-place.ts';
import { ConfigError } from '@agent-workflow/kit/env';

/** What an operator named as `<module>:<export>`. */
export interface Named {
  /** The key of `service.json` that names it: how an error begins. */
  readonly what: string;
  /** `<module>:<export>`; the module is a file, TypeScript or JavaScript, or the name of an installed package. */
  readonly location: string;
  /** The folder that files are relative to, and that packages are looked up from. */
  readonly folder: string;
  /** Called with each change of a built-in object that the module makes for all code of the process. */
  readonly onChanged?: ((warning: string) => void) | undefined;
}

/**
 * Imports the module and gives what it exports under the name.
 * @throws ConfigError: one line that says what is wrong, and in which file, line and column.
 */
export async function loadExport(named: Named): Promise<unknown> {
  const { location } = named;
  const colon = location.lastIndexOf(':');
  const moduleName = location.slice(0, colon);
  const exportName = location.slice(colon + 1);
  if (colon <= 0 || exportName === '') throw misnamed(named, 'must be written <module>:<object>');
  const exports = await importModule(named, moduleName);
  if (Object.hasOwn(exports, exportName)) return exports[exportName];
  const known = Object.keys(exports).join(', ') || 'nothing';
  throw misnamed(named, `${moduleName} exports no "${exportName}", only ${known}${inFile(named)}`);
}

/** Where the file that was named exports what was named; nothing for a package. */
export function inFile({ location, folder }: Named, exportName?: string): string {
  const file = fileOf(location.slice(0, location.lastIndexOf(':')), folder);
  return file === undefined ? '' : ` (${placeOfExport(file, exportName)})`;
}

/** The one line that refuses what was named. */
export const misnamed = ({ what, location }: Named, why: string): ConfigError =>
  new ConfigError(`${what} ${JSON.stringify(location)}: ${why}`);

/** The first line of an error, with what it names kept. Code may throw anything: a value that is no error is shown as code shows it. */
export const oneLine = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : show(error)).split('\n')[0] ?? '';

const show = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : inspect(value, { breakLength: Infinity, compact: true, customInspect: false, maxStringLength: shownCharacters });

/** Characters of each text in a thrown value that are shown. */
const shownCharacters = 200;

type Exports = Readonly<Record<string, unknown>>;

async function importModule(named: Named, name: string): Promise<Exports> {
  const { folder } = named;
  const found = locate(name, folder);
  if (found === undefined) {
    const meant = typeScriptOf(resolve(folder, name));
    const hint = meant === undefined ? '' : `: write "${name.slice(0, -basename(name).length)}${basename(meant)}"`;
    throw misnamed(named, `there is no module "${name}" in ${folder}${hint}`);
  }
  const files: string[] = [];
  const refuse = (why: string): ConfigError => misnamed(named, `"${name}" does not load: ${why}`);
  // Code that ends the process with 0 would be taken for a start that was stopped in order.
  const onExit = (): void => {
    process.stderr.write(`${refuse('it, or a file that it imports, ends the process').message}\n`);
    process.exitCode = 1;
  };
  process.once('exit', onExit);
  const before = readBuiltIns();
  let exports: Exports | undefined;
  try {
    exports = await importFrom(folder, found, (file) => files.push(file));
  } catch (error) {
    const place = await placeOfError(error, { module: fileOf(name, folder) ?? '', files });
    throw refuse(`${oneLine(error)}${extensionHint(error)}${place === undefined ? '' : ` (${place})`}`);
  } finally {
    process.off('exit', onExit);
    hideInherited();
  }
  if (named.onChanged) for (const line of linesOf(changedSince(before), files)) named.onChanged(line);
  if (exports === undefined) throw refuse('a top-level await in it, or in a file that it imports, never ends');
  return exports;
}

/** What to write where a module is not there without its extension, or with that of JavaScript, and the file of TypeScript is. */
function extensionHint(error: unknown): string {
  if (!(error instanceof Error) || !('url' in error) || typeof error.url !== 'string') return '';
  if (!error.url.startsWith('file:')) return '';
  const found = typeScriptOf(fileURLToPath(error.url));
  return found === undefined ? '' : `: write "${basename(found)}", an import has the extension of its file`;
}

/** The file of TypeScript that is there in place of a file that is not. */
const typeScriptOf = (file: string): string | undefined =>
  [`${file}.ts`, file.replace(/\.(m?)js$/, '.$1ts')].find((each) => each !== file && existsSync(each));

/** One line for each package or file that has changed built-in objects, with the members. */
function linesOf(changed: readonly string[], files: readonly string[]): readonly string[] {
  const byWho = Map.groupBy(changed.slice(0, shownChanges), (member) => whoNames(member, files) ?? 'code of the agent');
  return [...byWho].map(
    ([who, members]) =>
      `${who} has changed ${members.join(', ')} for all code of this process, the service's own included`,
  );
}

/** So many changed members are named at most. */
const shownChanges = 50;

/** The file that a module's name means, when it means one. */
function fileOf(name: string, folder: string): string | undefined {
  const file = resolve(folder, name);
  return existsSync(file) ? file : undefined;
}

/** The address of a file, or the name of a package that is installed. */
function locate(name: string, folder: string): string | undefined {
  const file = fileOf(name, folder);
  if (file !== undefined) return pathToFileURL(file).href;
  if (name.startsWith('.') || name.startsWith('/')) return undefined;
  try {
    createRequire(resolve(folder, 'service.json')).resolve(name);
  } catch (error) {
    // A package may be there and export nothing for `require`: what it exports for `import` is looked up when it is imported.
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined;
  }
  return name;
}

/**
 * Imports as a module that stands in `folder` would: left to itself, `import` looks for packages beside this file.
 * @returns `undefined` when the process has nothing left to do, and the module still waits.
 */
async function importFrom(
  folder: string,
  specifier: string,
  onFile: (file: string) => void,
): Promise<Exports | undefined> {
  const parentURL = pathToFileURL(resolve(folder, 'service.json')).href;
  const hooks = registerHooks({
    resolve: (name, context, next) => next(name, name === specifier ? { ...context, parentURL } : context),
    load: (url, context, next) => {
      if (url.startsWith('file:')) onFile(fileURLToPath(url));
      return next(url, context);
    },
  });
  const idle = Promise.withResolvers<undefined>();
  // Node would end the process now, with exit code 13.
  const onIdle = (): void => void setImmediate(() => idle.resolve(undefined));
  process.once('beforeExit', onIdle);
  try {
    return await Promise.race([import(specifier) as Promise<Exports>, idle.promise]);
  } finally {
    process.off('beforeExit', onIdle);
    hooks.deregister();
  }
}
