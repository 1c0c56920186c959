import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '@agent-workflow/kit/env';
import { primaryCode } from './errors.ts';
import { cannotOpen } from './file-reason.ts';

const sqliteBusy = 5;

/**
 * Holds a folder for this process until disposed or dead: the operating system removes the lock of a dead process.
 * @returns `undefined` when another process holds it.
 */
function holdFolder(folder: string): Disposable | undefined {
  mkdirSync(folder, { recursive: true });
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
  if (folder === ':memory:') return { pathOf: () => ':memory:', [Symbol.dispose]: () => undefined };
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
