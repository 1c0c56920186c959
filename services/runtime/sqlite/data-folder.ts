import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '@agent-workflow/kit/env';
import { primaryCode } from './errors.ts';
import { cannotOpen } from './file-reason.ts';

const sqliteBusy = 5;
/** Threads and memories are in the folder: no other user of the machine may read them. */
const ownersAlone = 0o700;

/**
 * Holds a folder for this process until disposed or dead: the operating system removes the lock of a dead process.
 * @returns `undefined` when another process holds it.
 */
function holdFolder(folder: string): Disposable | undefined {
  makeFolder(folder, ownersAlone);
  const db = new DatabaseSync(`${folder}/lock.sqlite`, { timeout: 0 });
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;');
  } catch (error) {
    db.close();
    if (primaryCode(error) === sqliteBusy) return undefined;
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      db.close();
    },
  };
}

/**
 * Makes the folder and those above it, one after the other: where a file system takes none, as `/proc`, Node's `recursive` tries for ever.
 */
function makeFolder(folder: string, mode?: number): void {
  if (isFolder(folder)) return;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new ConfigError(`DATA_DIR ${folder} cannot be made: ${above} takes no folders`, { cause: error });
    // Another process has made it meanwhile.
    if (code !== 'EEXIST' || !isFolder(folder)) throw error;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** What `DATA_DIR` is where nothing is kept. */
const nowhere = ':memory:';

/** Where the data of this `DATA_DIR` is, for people. */
export const dataPlace = (folder: string): string =>
  folder === nowhere ? 'in memory, gone when the process ends' : resolve(folder);

/** A folder of data files. Disposal releases it. */
interface DataFolder extends Disposable {
  /** Where the file of this name is kept; `:memory:` when nothing is. */
  readonly pathOf: (name: string) => string;
}

/**
 * Holds the data folder of this process; `:memory:` keeps nothing and needs no holding.
 * @throws ConfigError when another process holds it, or it cannot be used.
 */
export function openDataFolder(folder: string): DataFolder {
  if (folder === nowhere) return { pathOf: () => nowhere, [Symbol.dispose]: () => undefined };
  const path = resolve(folder);
  const held = holdOrRefuse(path);
  if (!held) throw new ConfigError(`DATA_DIR ${path} is in use by another process`);
  return { pathOf: (name) => join(path, name), [Symbol.dispose]: () => held[Symbol.dispose]() };
}

function holdOrRefuse(path: string): Disposable | undefined {
  try {
    return holdFolder(path);
  } catch (error) {
    throw cannotOpen(join(path, 'lock.sqlite'), error);
  }
}
