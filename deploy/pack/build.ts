import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../generator/settings.ts';
import { bundle } from './bundle.ts';
import { emit } from './emit.ts';
import { copyPages } from './pages.ts';
import { toBuilt, type Publication } from './packages.ts';

/** What a `package.json` of ours says. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly main?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>;
}

/** Lays a package out in a folder, ready for `npm pack`. */
export async function build(publication: Publication, into: string): Promise<void> {
  const manifest = readManifest(publication.folder);
  const workspaces = readWorkspaces();
  const builtIn = [...workspaces].filter(([name]) => !publication.peers.includes(name));
  const ours = Object.fromEntries(builtIn.flatMap(([name, folder]) => exportsOf(name, folder)));
  const external = new Set<string>();
  const resolve = (specifier: string): string | undefined => {
    const name = packageOf(specifier);
    if (ours[specifier] !== undefined) return ours[specifier];
    if (publication.copied.includes(name)) return join('vendor', name, mainOf(name));
    if (!name.startsWith('node:')) external.add(name);
    return undefined;
  };
  const entries = publication.entries ?? manifest.exports;
  const exported = Object.values(entries).map((path) => join(publication.folder, path));
  const modules = [...exported, ...(publication.programs ?? [])];
  rmSync(into, { recursive: true, force: true });
  const built = emit({ entries: modules, resolve, paths: ours, declaration: publication.isTyped });
  const files = publication.isBundled ? await bundle(built, modules.map(toBuilt)) : built;
  for (const [path, text] of files) write(join(into, path), text);
  for (const asset of publication.assets.flatMap((pattern) => globSync(pattern, { cwd: root })))
    cpSync(join(root, asset), join(into, asset));
  for (const [from, to] of Object.entries(publication.servedFiles ?? {}))
    cpSync(join(root, from), join(into, to), { recursive: true });
  for (const name of publication.copied) copyPackage(name, publication.copied, into);
  write(join(into, 'package.json'), JSON.stringify(published(publication, manifest, entries, external), null, 2));
  copyPages({ [publication.readme ?? join(publication.folder, 'README.md')]: 'README.md', ...publication.pages }, into);
  cpSync(join(root, 'LICENSE'), join(into, 'LICENSE'));
}

/** Makes the tarball of a folder that `build` laid out. Gives its path. */
export function pack(folder: string, into: string): string {
  mkdirSync(into, { recursive: true });
  const text = execFileSync('npm', ['pack', '--json', '--pack-destination', into], { cwd: folder, encoding: 'utf8' });
  const [packed] = JSON.parse(text) as readonly { readonly filename: string }[];
  return join(into, packed?.filename ?? '');
}

function published(
  publication: Publication,
  manifest: Manifest,
  entries: Readonly<Record<string, string>>,
  external: ReadonlySet<string>,
): object {
  const toEntry = (path: string): object => {
    const file = join(publication.folder, path).replace(/\.ts$/, '');
    return { ...(publication.isTyped && { types: `./${file}.d.ts` }), default: `./${file}.js` };
  };
  const versions = readVersions('dependencies');
  const optional = readVersions('optionalDependencies');
  const versionOf = (name: string): string => {
    const version = versions.get(name) ?? optional.get(name);
    if (version === undefined) throw new Error(`${publication.name} imports ${name}, which no workspace depends on`);
    return version;
  };
  const isNeeded = (name: string): boolean => versions.has(name) || !optional.has(name);
  const { peerDependencies = {}, peerDependenciesMeta } = manifest;
  const peers = {
    ...Object.fromEntries(publication.peers.map((name) => [name, manifest.version])),
    ...peerDependencies,
  };
  const needed = [...external].filter((name) => !Object.hasOwn(peers, name)).toSorted();
  return {
    ...{ name: publication.name, version: manifest.version, description: publication.description },
    ...{ license: manifest.license, type: 'module', engines: { node: '>=22' }, sideEffects: false },
    ...(publication.bin && {
      bin: Object.fromEntries(
        Object.entries(publication.bin).map(([name, path]) => [
          name,
          join(publication.folder, path).replace(/\.ts$/, '.js'),
        ]),
      ),
    }),
    exports: Object.fromEntries(Object.entries(entries).map(([key, path]) => [key, toEntry(path)])),
    dependencies: Object.fromEntries(needed.filter(isNeeded).map((name) => [name, versionOf(name)])),
    optionalDependencies: Object.fromEntries(
      needed.filter((name) => !isNeeded(name)).map((name) => [name, versionOf(name)]),
    ),
    ...(Object.keys(peers).length > 0 && { peerDependencies: peers }),
    ...(peerDependenciesMeta && { peerDependenciesMeta }),
  };
}

/** The versions of packages of others that the workspaces name: one each in the whole tree. */
function readVersions(kind: 'dependencies' | 'optionalDependencies'): ReadonlyMap<string, string> {
  const folders = [...readWorkspaces().values()];
  return new Map(folders.flatMap((folder) => Object.entries(readManifest(folder)[kind] ?? {})));
}

function readWorkspaces(): ReadonlyMap<string, string> {
  const files = globSync(['protos/package.json', 'services/*/package.json', 'gateway/package.json'], { cwd: root });
  return new Map(files.map((file) => [readManifest(dirname(file)).name, dirname(file)]));
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;

/** Each specifier of a workspace, and the file that it leads to: `@agent-workflow/kit/errors`, `services/kit/errors.ts`. */
function exportsOf(name: string, folder: string): (readonly [specifier: string, path: string])[] {
  const entries = Object.entries(readManifest(folder).exports);
  return entries.map(([key, path]) => [join(name, key), join(folder, path)]);
}

const packageOf = (specifier: string): string =>
  specifier.startsWith('@') ? specifier.split('/', 2).join('/') : (specifier.split('/', 1)[0] ?? '');

/** The file that `import` of a package of others leads to. */
const mainOf = (name: string): string => readManifest(join('node_modules', name)).main ?? 'index.js';

/**
 * A package of others beside our files, with its licence and its `package.json`, which says how its files are read. Imports of
 * another such package lead to that one's copy.
 */
function copyPackage(name: string, copied: readonly string[], into: string): void {
  const from = join(root, 'node_modules', name);
  const taken = ['{,dist/}*.js', '{,dist/}*.d.ts', 'license*', 'LICENSE*', 'package.json'];
  for (const file of globSync(taken, { cwd: from })) {
    const text = copied.reduce(
      (text, other) => text.replaceAll(`from '${other}'`, `from '../${other}/index.js'`),
      readFileSync(join(from, file), 'utf8'),
    );
    write(join(into, 'vendor', name, file), text);
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
