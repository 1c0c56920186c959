import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { ConfigError } from '@agent-workflow/kit/env';
import { readBackup } from './backup/backup.ts';
import { copyMemories } from './backup/copy.ts';
import { createProgress, fileOf, runCommand } from './command.ts';
import { chooseStore } from './stores.ts';

// Puts the memories of a file that `export.ts` wrote into the store. Memories that exist there stay as they are, so it can be run
// again. When another embedder made the vectors of the file, new vectors are made.
await runCommand('import', async (command) => {
  const { embedder, print } = command;
  const file = fileOf(command, 'node services/memory/import.ts <file>');
  await access(file).catch(() => {
    throw new ConfigError(`${file} cannot be read`);
  });
  const backup = await readBackup(createInterface({ input: createReadStream(file), crlfDelay: Infinity }));
  const isSame = backup.embedder.model === embedder.model && backup.embedder.dimension === embedder.dimension;
  await using store = await chooseStore(command.values).open(command);
  const progress = createProgress(1000, (count) => {
    print(`${String(count)} memories are read`);
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
  print(`${String(added)} memories are new, ${String(read - added)} were there`);
});
