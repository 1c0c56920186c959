import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@agent-workflow/kit/env';

/** A folder and a secret of a process that is the only one. */
export interface OwnFiles extends AsyncDisposable {
  readonly folder: string;
  readonly secrets: readonly [string, ...string[]];
}

/**
 * The folder and the secret in a data folder; both are made at the first start. `pathOf` gives where a file of the data folder is,
 * and `:memory:` when nothing is kept: then both last as long as the process.
 * @throws ConfigError when the secret cannot be read or kept there.
 */
export async function openOwnFiles(pathOf: (name: string) => string): Promise<OwnFiles> {
  const folder = pathOf('files');
  if (folder !== ':memory:')
    return { folder, secrets: [keptSecret(pathOf('files.secret'))], [Symbol.asyncDispose]: () => Promise.resolve() };
  const temporary = await mkdtemp(join(tmpdir(), 'agent-workflow-files-'));
  return {
    folder: temporary,
    secrets: [newSecret()],
    [Symbol.asyncDispose]: () => rm(temporary, { recursive: true, force: true }),
  };
}

const newSecret = (): string => randomBytes(32).toString('base64url');

function keptSecret(path: string): string {
  try {
    return readSecret(path) ?? writeSecret(path);
  } catch (error) {
    const reason = reasons[(error as NodeJS.ErrnoException).code ?? ''];
    throw reason === undefined ? error : new ConfigError(`DATA_DIR cannot keep ${path}: ${reason}`, { cause: error });
  }
}

/** Why a file cannot be read or written, by the code of the system call. */
const reasons: Readonly<Record<string, string>> = {
  EACCES: 'access is denied',
  EDQUOT: 'the disk is full',
  EFBIG: 'the file is too large for the disk',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'the path leads through a file',
  EPERM: 'access is denied',
  EROFS: 'the file system is read-only',
};

/** `undefined` where there is none; an empty file is none. */
function readSecret(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

/** Under its name a secret is whole. The process holds its data folder alone, so that nobody else writes the file beside it. */
function writeSecret(path: string): string {
  const secret = newSecret();
  const written = `${path}.new`;
  try {
    writeFileSync(written, `${secret}\n`, { mode: 0o600, flush: true });
    renameSync(written, path);
  } catch (error) {
    rmSync(written, { force: true });
    throw error;
  }
  return secret;
}
