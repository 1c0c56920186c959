import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Manifest {
  readonly version: string;
  readonly private?: boolean;
}

/** Of the package that this file is part of: a clone has one, too, which is private. */
const manifest = (): Manifest =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest;

/** The version of the package that this file is part of. */
export const version = (): string => manifest().version;

/** The folder of the clone that this file is part of; `undefined` in a package that was installed. */
export const cloneFolder = (): string | undefined =>
  manifest().private === true ? fileURLToPath(new URL('../..', import.meta.url)) : undefined;

/** The folder of the tarball that npm installed this file's package from; `undefined` of one from a registry, or whose tarball is gone. */
export function tarballsFolder(): string | undefined {
  const place = fileURLToPath(new URL('../..', import.meta.url)).replaceAll('\\', '/');
  const at = place.lastIndexOf('/node_modules/') + 1;
  const [project, path] = [place.slice(0, at), place.slice(at, -1)];
  const lock = `${project}node_modules/.package-lock.json`;
  if (at === 0 || !existsSync(lock)) return undefined;
  const { packages } = JSON.parse(readFileSync(lock, 'utf8')) as Installed;
  const [, tarball] = /^file:(.*\.tgz)$/.exec(packages[path]?.resolved ?? '') ?? [];
  const file = tarball === undefined ? undefined : resolve(project, tarball);
  return file !== undefined && existsSync(file) ? dirname(file) : undefined;
}

/** What npm writes down of what it installed. */
interface Installed {
  readonly packages: Readonly<Record<string, { readonly resolved?: string }>>;
}
