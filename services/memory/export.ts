import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ConfigError } from '@agent-workflow/kit/env';
import { reasonOf } from '@agent-workflow/runtime/reason';
import { toLines } from './backup/backup.ts';
import { createProgress, fileOf, runCommand } from './command.ts';
import type { OwnedMemory } from './ports/memory.ts';
import { chooseStore } from './stores.ts';

// Writes every memory of every owner to a file, from which `import.ts` puts them into any store.
await runCommand('export', async (command) => {
  const file = fileOf(command, 'node services/memory/export.ts <file>');
  const chosen = chooseStore(command.values);
  const missing = chosen.absence?.();
  if (missing !== undefined) throw new ConfigError(`there is nothing to export: ${missing}`);
  await using store = await chosen.open(command);
  // The file gets its name when it is complete.
  await using part = await openPart(file);
  const progress = createProgress(1000, (count) => {
    command.print(`${String(count)} memories are written`);
  });
  let count = 0;
  const counted = async function* (): AsyncGenerator<OwnedMemory> {
    for await (const owned of store.scan()) {
      yield owned;
      progress((count += 1));
    }
  };
  await pipeline(toLines(counted(), command.embedder), part.handle.createWriteStream(), { signal: command.stopping });
  await rename(part.path, file);
  command.print(`${String(count)} memories are in ${file}`);
});

interface Part extends AsyncDisposable {
  readonly path: string;
  readonly handle: FileHandle;
}

/** Opens the file that gets the name `file` later. @throws ConfigError where it cannot be written, or `file` is no file: a device would be replaced. */
async function openPart(file: string): Promise<Part> {
  const there = await stat(file).catch(() => undefined);
  if (there && !there.isFile()) throw new ConfigError(`${file} is no file`);
  const path = `${file}.part`;
  const handle = await open(path, 'w').catch((error: unknown) => {
    throw new ConfigError(`${file} cannot be written: ${reasonOf(error)}`);
  });
  return { path, handle, [Symbol.asyncDispose]: async () => handle.close() };
}
