import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { readEnv, type Env } from '@agent-workflow/kit/env';
import { within } from '@agent-workflow/protos/call';
import { memorySettings } from './config.ts';
import { openMemory } from './open.ts';

const folder = await mkdtemp(join(tmpdir(), 'memory-open-'));
test.after.always(async () => rm(folder, { recursive: true }));

const call = within(30_000);
const open = async (name: string, env: Env = {}): ReturnType<typeof openMemory> =>
  openMemory({ path: join(folder, name), values: readEnv(memorySettings, env) });
const openai = { EMBEDDINGS_PROVIDER: 'openai', EMBEDDINGS_BASE_URL: 'http://127.0.0.1:9/v1' };

const note = {
  owner: 'anon',
  memoryId: 'm1',
  content: 'the spare key is under the stone',
  memoryType: 'semantic' as const,
  category: 'house',
  metadataJson: Buffer.from('{}'),
};
const search = {
  owner: 'anon',
  query: 'where is the spare key',
  selection: {},
  limit: 10,
  scoreThreshold: 0,
  retrievalStrategy: 'hybrid' as const,
  distanceMetric: 'cosine' as const,
  maxTokens: 100,
};

test('what was stored is found after a restart', async (t) => {
  {
    await using opened = await open('restart.sqlite');
    await opened.memory.store(note, call);
  }
  await using again = await open('restart.sqlite');
  const { results } = await again.memory.search(search, call);
  t.deepEqual(
    results.map(({ content }) => content),
    [note.content],
  );
});

test('memories of another embedder are refused at the start, in one line', async (t) => {
  {
    await using opened = await open('mismatch.sqlite');
    await opened.memory.store(note, call);
  }
  const error = await t.throwsAsync(open('mismatch.sqlite', openai), { name: 'ConfigError' });
  t.is(
    error.message,
    'the memories of this data folder were embedded by hash-v1 (384 numbers), not text-embedding-3-small (1536 numbers): ' +
      'set EMBEDDINGS_PROVIDER, EMBEDDINGS_MODEL and EMBEDDINGS_DIMENSION as they were, or use another DATA_DIR',
  );
  await using again = await open('mismatch.sqlite');
  t.is((await again.memory.list({ owner: 'anon', selection: {}, limit: 1, offset: 0 }, call)).total, 1);
});

test('a folder without memories takes another embedder', async (t) => {
  await (await open('empty.sqlite'))[Symbol.asyncDispose]();
  await using other = await open('empty.sqlite', openai);
  t.is((await other.memory.list({ owner: 'anon', selection: {}, limit: 1, offset: 0 }, call)).total, 0);
});
