import { ConfigError } from '@agent-workflow/kit/env';
import { ServiceError } from '@agent-workflow/kit/errors';
import { createProgress, runCommand } from './command.ts';
import { copyMemories } from './backup/copy.ts';
import { readWeaviate } from './adapters/weaviate/settings.ts';

// Copies all memories into a new collection of Weaviate, whose index is made anew, and lets it take the place of the old one. When
// the settings name another embedder than made the vectors, they are made anew too. No memory service may be at work meanwhile.
await runCommand('reindex', async ({ values, embedder, log, stopping, say }) => {
  const reach = readWeaviate(values);
  if (!reach) throw new ConfigError('WEAVIATE_URL must be set: the file of DATA_DIR has no index to make anew');
  const { openReindex } = await import('./adapters/weaviate/reindex.ts');
  await using reindex = await openReindex({
    ...reach,
    onFailure: (error) => {
      log.warn({ err: error }, 'a request to Weaviate failed in the background');
    },
  });
  const { model, dimension } = reindex.embedder;
  const isSame = model === embedder.model && dimension === embedder.dimension;
  const total = await reindex.count();
  const progress = createProgress(1000, (count) => {
    say(`${String(count)} of ${String(total)} memories are copied`);
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
  say(`${String(added)} memories are in the new collection`);
});
