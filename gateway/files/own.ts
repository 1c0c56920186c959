import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder and a secret of a process that is the only one. */
export interface OwnFiles extends AsyncDisposable {
  readonly folder: string;
  readonly secrets: readonly [string, ...string[]];
}

/**
 * The folder and the secret in a data folder; both are made at the first start. `pathOf` gives where a file of the data folder is,
 * and `:memory:` when nothing is kept: then both last as long as the process.
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

/** The process holds its data folder alone, so that nobody else writes the file between the two calls. */
function keptSecret(path: string): string {
  try {
    const kept = readFileSync(path, 'utf8').trim();
    if (kept !== '') return kept;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const secret = newSecret();
  writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  return secret;
}
