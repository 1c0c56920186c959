import { copyFileSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { root } from '../generator/settings.ts';
import { programs, toBuilt } from './packages.ts';

/**
 * `node deploy/pack/image.ts TARBALLS FOLDER`: writes what `npm install` needs to fill the image in the folder, and what stands
 * beside the packages there. `deploy/image.sh` runs it.
 */
const [tarballs = '', folder = ''] = process.argv.slice(2);

/** What the image installs of ours: the service, and what agents and backends of authentication import. */
const installed = ['server', 'graph', 'auth'];

interface RootManifest extends Readonly<Record<string, unknown>> {
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly link?: boolean; readonly dev?: boolean }>>;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const writeJson = (path: string, value: unknown): void => {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
};

/** Copies the tarball of a package. @returns what a dependency on it is. @throws Error when there is none, or more than one. */
function copyTarball(name: string): string {
  const [file, ...others] = globSync(`agent-workflow-${name}-*.tgz`, { cwd: tarballs });
  if (file === undefined || others.length > 0)
    throw new Error(`${tarballs} must hold one tarball of @agent-workflow/${name}`);
  mkdirSync(join(folder, 'packages'), { recursive: true });
  copyFileSync(join(tarballs, file), join(folder, 'packages', file));
  return `file:packages/${file}`;
}

/** The root's `package.json` with our packages in place of the workspaces. */
function toManifest({ dependencies, ...manifest }: RootManifest): object {
  const { name, version, license, type, overrides, allowScripts } = manifest;
  const ours = installed.map((each) => [`@agent-workflow/${each}`, copyTarball(each)] as const);
  return {
    ...{ name, version, private: true, license, type, overrides, allowScripts },
    dependencies: { ...dependencies, ...Object.fromEntries(ours) },
  };
}

/** The lock of the repository without its workspaces and what only they develop with: npm keeps each version that stands in it. */
function toLock({ packages, ...lock }: Lock): object {
  const kept = Object.entries(packages).filter(
    ([path, { link, dev }]) => path.startsWith('node_modules/') && link !== true && dev !== true,
  );
  return { ...lock, packages: Object.fromEntries(kept) };
}

/** A program keeps its path. The name that it has in the tree leads to it, too. */
function linkProgram(program: string): void {
  const built = toBuilt(program);
  const target = join('node_modules/@agent-workflow/server', built);
  mkdirSync(join(folder, dirname(program)), { recursive: true });
  symlinkSync(relative(dirname(built), target), join(folder, built));
  symlinkSync(basename(built), join(folder, program));
}

writeJson(join(folder, 'package.json'), toManifest(readJson(join(root, 'package.json')) as RootManifest));
writeJson(join(folder, 'package-lock.json'), toLock(readJson(join(root, 'package-lock.json')) as Lock));
for (const program of programs) linkProgram(program);
const service = readFileSync(join(root, 'service.json'), 'utf8');
writeFileSync(join(folder, 'service.json'), service.replace('.ts:', '.js:'));
