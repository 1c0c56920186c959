import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { ConfigError } from '@agent-workflow/kit/env';
import { readBackup } from './backup/backup.ts';
import { createProgress, fileOf, runCommand } from './command.ts';
import { copyMemories } from './backup/copy.ts';
import { openStore } from './open-store.ts';

// Puts the memories of a file that `export.ts` wrote into the store. Those that are there stay as they are, so it can be run again.
// Vectors of another embedder are made anew.
await runCommand('import', async (command) => {
  const { embedder, say } = command;
  const file = fileOf(command, 'node services/memory/import.ts <file>');
  await access(file).catch(() => {
    throw new ConfigError(`${file} cannot be read`);
  });
  const backup = await readBackup(createInterface({ input: createReadStream(file), crlfDelay: Infinity }));
  const isSame = backup.embedder.model === embedder.model && backup.embedder.dimension === embedder.dimension;
  await using store = await openStore(command);
  const progress = createProgress(1000, (count) => {
    say(`${String(count)} memories are read`);
  });
  const { read, added } = await copyMemories({
    from: backup.memories,
    load: store.load,
    embedder: isSame ? undefined : embedder,
    onProgress: (copied) => {
      command.stopping.throwIfAborted();
      progress(copied.read);
    },
  });
  say(`${String(added)} memories are new, ${String(read - added)} were there`);
});
