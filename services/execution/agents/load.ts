import { existsSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '@agent-workflow/kit/env';
import { isCompiledGraph, type CompiledGraph } from '../engine/graph.ts';

/**
 * Loads the graph that `service.json` names as `<module>:<object>`: a file relative to `folder`, TypeScript or JavaScript,
 * or a package that is installed there.
 * @throws ConfigError: one line that says what is wrong and where.
 */
export async function loadAgent(location: string, folder: string): Promise<CompiledGraph> {
  const colon = location.lastIndexOf(':');
  const moduleName = location.slice(0, colon);
  const objectName = location.slice(colon + 1);
  if (colon <= 0 || objectName === '') throw refuse(location, 'must be written <module>:<object>');
  const exports = await importModule(location, moduleName, folder);
  if (!Object.hasOwn(exports, objectName)) {
    throw refuse(
      location,
      `${moduleName} exports no "${objectName}", only ${Object.keys(exports).join(', ') || 'nothing'}`,
    );
  }
  const graph = exports[objectName];
  if (!isCompiledGraph(graph))
    throw refuse(location, `"${objectName}" is not a compiled graph (is .compile() missing?)`);
  return graph;
}

async function importModule(
  location: string,
  name: string,
  folder: string,
): Promise<Readonly<Record<string, unknown>>> {
  const found = locate(name, folder);
  if (found === undefined) throw refuse(location, `there is no module "${name}" in ${folder}`);
  try {
    return await importFrom(folder, found);
  } catch (error) {
    throw refuse(location, `"${name}" does not load: ${oneLine(error)}`);
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

type Exports = Readonly<Record<string, unknown>>;

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

const refuse = (location: string, why: string): ConfigError =>
  new ConfigError(`agent ${JSON.stringify(location)}: ${why}`);

/** The first line of an error, with what it names kept. */
const oneLine = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n')[0] ?? '';
