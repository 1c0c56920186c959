import { readFileSync } from 'node:fs';
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
