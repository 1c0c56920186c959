import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds the workspaces. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

export const workspaces: readonly string[] = [
  'protos',
  ...globSync('services/*/package.json', { cwd: root }).map((file) => posix.dirname(file.replaceAll('\\', '/'))),
  'gateway',
  'test',
].toSorted();

/** Every TypeScript and JavaScript file of ours, as a path from the root. */
export const files: readonly string[] = globSync(
  ['protos', 'services', 'gateway', 'test', 'deploy'].map((folder) => `${folder}/**/*.{ts,tsx,js}`),
  { cwd: root, exclude: (name) => /(^|\/)(node_modules|dist)(\/|$)/.test(name) },
)
  .map((file) => file.replaceAll('\\', '/'))
  .toSorted();

/** Files that no process of the product loads: tests, and whatever stands in the workspace `test`. */
export const tests = /\.test\.ts$|^test\//;

export const read = (file: string): string => readFileSync(posix.join(root, file), 'utf8');

export const workspaceOf = (file: string): string => /^(services\/)?[^/]+/.exec(file)?.[0] ?? '';

/** Every module that a source names: in `import … from`, `export … from`, `import '…'` and `import('…')`. */
export const specifiersOf = (source: string): string[] =>
  [
    ...source.matchAll(/^(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/gm),
  ].flatMap(([, from, bare]) => from ?? bare ?? []);

/** Where an import leads: a path from the root as `/services/kit/errors` for files of ours, else the name as written. */
export function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return `/${posix.join(posix.dirname(file), specifier)}`.replace(/\.(tsx?|js)$/, '');
  const [, folder, rest] = /^@agent-workflow\/([\w-]+)(.*)$/.exec(specifier) ?? [];
  if (folder === undefined) return specifier;
  const home = ['gateway', 'protos', 'test'].includes(folder) ? folder : `services/${folder}`;
  return `/${home}${rest ?? ''}`;
}

/** The file of ours that an import leads to, as a path from the root; undefined for packages of others. */
export function fileOf(file: string, specifier: string): string | undefined {
  if (specifier.endsWith('.css')) return undefined;
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier);
  if (!specifier.startsWith('@agent-workflow/')) return undefined;
  return posix.relative(root, fileURLToPath(import.meta.resolve(specifier)));
}

export type Arrow = readonly [from: string, to: string];

/** Each import of one file of ours by another, types included, except the imports of `*.test.ts`. */
export const allArrows: readonly Arrow[] = files
  .filter((file) => !file.endsWith('.test.ts'))
  .flatMap((file) => specifiersOf(read(file)).map((specifier) => [file, fileOf(file, specifier)] as const))
  .filter((arrow): arrow is Arrow => arrow[1] !== undefined);
