import { ServiceError } from '@agent-workflow/kit/errors';
import { copyMemories } from './backup/copy.ts';
import { createProgress, runCommand } from './command.ts';
import { chooseStore } from './stores.ts';

// Copies all memories into a new collection of Weaviate, which builds a new index, and makes it the current one. When the settings name
// another embedder than made the vectors, new vectors are made. No memory service may run during it.
await runCommand('reindex', async ({ values, embedder, log, stopping, print }) => {
  await using reindex = await chooseStore(values).openReindex({ log });
  const { model, dimension } = reindex.embedder;
  const isSame = model === embedder.model && dimension === embedder.dimension;
  const total = await reindex.count();
  const progress = createProgress(1000, (count) => {
    print(`${String(count)} of ${String(total)} memories are copied`);
  });
  const { read, added } = await copyMemories({
    from: reindex.scan(),
    load: reindex.load,
    embedder: isSame ? undefined : embedder,
    onProgress: (copied) => {
      stopping.throwIfAborted();
      progress(copied.read);
    },
  });
  if (read !== added)
    throw new ServiceError('StorageFailed', `${String(added)} of ${String(read)} memories were copied`);
  await reindex.finish(embedder);
  print(`${String(added)} memories are in the new collection`);
});
