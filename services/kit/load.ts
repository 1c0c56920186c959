import { existsSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from './env.ts';

/** What an operator named as `<module>:<export>`. */
export interface Named {
  /** The key of `service.json` that names it: how an error begins. */
  readonly what: string;
  /** `<module>:<export>`; the module is a file, TypeScript or JavaScript, or the name of an installed package. */
  readonly location: string;
  /** The folder that files are relative to, and that packages are looked up from. */
  readonly folder: string;
}

/**
 * Imports the module and gives what it exports under the name.
 * @throws ConfigError: one line that says what is wrong and where.
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
  throw misnamed(named, `${moduleName} exports no "${exportName}", only ${known}`);
}

/** The one line that refuses what was named. */
export const misnamed = ({ what, location }: Named, why: string): ConfigError =>
  new ConfigError(`${what} ${JSON.stringify(location)}: ${why}`);

/** The first line of an error, with what it names kept. */
export const oneLine = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n')[0] ?? '';

type Exports = Readonly<Record<string, unknown>>;

async function importModule(named: Named, name: string): Promise<Exports> {
  const { folder } = named;
  const found = locate(name, folder);
  if (found === undefined) throw misnamed(named, `there is no module "${name}" in ${folder}`);
  try {
    return await importFrom(folder, found);
  } catch (error) {
    throw misnamed(named, `"${name}" does not load: ${oneLine(error)}`);
  }
}

/** The address of a file, or the name of a package that is installed. */
function locate(name: string, folder: string): string | undefined {
  const file = resolve(folder, name);
  if (existsSync(file)) return pathToFileURL(file).href;
  if (name.startsWith('.') || name.startsWith('/')) return undefined;
  try {
    createRequire(resolve(folder, 'service.json')).resolve(name);
  } catch (error) {
    // A package may be there and export nothing for `require`: what it exports for `import` is looked up when it is imported.
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined;
  }
  return name;
}

/** Imports as a module that stands in `folder` would: left to itself, `import` looks for packages beside this file. */
async function importFrom(folder: string, specifier: string): Promise<Exports> {
  const parentURL = pathToFileURL(resolve(folder, 'service.json')).href;
  const hooks = registerHooks({
    resolve: (name, context, next) => next(name, name === specifier ? { ...context, parentURL } : context),
  });
  try {
    return (await import(specifier)) as Exports;
  } finally {
    hooks.deregister();
  }
}
