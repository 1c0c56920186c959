import { createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { toLines } from './backup/backup.ts';
import { createProgress, fileOf, runCommand } from './command.ts';
import { openStore } from './open-store.ts';
import type { OwnedMemory } from './ports/port.ts';

// Writes every memory of every owner to a file, from which `import.ts` puts them into any other store.
await runCommand('export', async (command) => {
  const file = fileOf(command, 'node services/memory/export.ts <file>');
  await using store = await openStore(command);
  const progress = createProgress(1000, (count) => {
    command.say(`${String(count)} memories are written`);
  });
  let count = 0;
  const counted = async function* (): AsyncGenerator<OwnedMemory> {
    for await (const owned of store.scan()) {
      yield owned;
      progress((count += 1));
    }
  };
  // A file of this name is whole: what was cut short has another.
  await pipeline(toLines(counted(), command.embedder), createWriteStream(`${file}.part`), { signal: command.stopping });
  await rename(`${file}.part`, file);
  command.say(`${String(count)} memories are in ${file}`);
});
