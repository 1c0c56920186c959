import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { openSqliteMemoryStore } from './adapters/sqlite/store.ts';
import type { OwnedMemory } from './ports/memory.ts';
import { toUnit, vectorToJson } from './vectors/unit.ts';

const folder = mkdtempSync(join(tmpdir(), 'agent-workflow-commands-'));
test.after.always(() => {
  rmSync(folder, { recursive: true });
});

const embedder = { model: 'hash-v1', dimension: 384 };
const vector = toUnit(new Float32Array(embedder.dimension).fill(1));
const owned: OwnedMemory = {
  owner: 'u:ada',
  memory: {
    memoryId: 'm1',
    memoryType: 'semantic',
    category: 'notes',
    threadId: '',
    timestamp: 1,
    content: 'a blue boat',
    metadataJson: Buffer.from('{"a\\n":1}'),
    vector,
    vectorJson: vectorToJson(vector),
  },
};

test('memories that are exported can be imported into another folder, and a target that is no file or has no folder is refused', async (t) => {
  const from = join(folder, 'from');
  {
    await using store = openSqliteMemoryStore({ path: join(from, 'memory.sqlite'), embedder });
    t.is(await store.load([owned]), 1);
  }
  for (const [target, words] of [
    [join(folder, 'not-there', 'memories'), /cannot be written: ENOENT/],
    [from, /is no file/],
  ] as const) {
    const refused = run('export', from, target);
    t.is(refused.status, 1);
    t.regex(refused.stderr, words);
    t.is(refused.stderr.trimEnd().split('\n').length, 1);
  }
  const file = join(folder, 'memories.ndjson');
  t.like(run('export', from, file), { status: 0 });
  const to = join(folder, 'to');
  t.like(run('import', to, file), { status: 0, stdout: '1 memories are new, 0 were there\n' });
  const again = join(folder, 'again.ndjson');
  t.like(run('export', to, again), { status: 0 });
  t.is(readFileSync(again, 'utf8'), readFileSync(file, 'utf8'));
  t.regex(readFileSync(again, 'utf8'), /a blue boat/);
});

test('a folder without memories is not exported, and none is made', (t) => {
  const none = join(folder, 'misspelt');
  const { status, stderr } = run('export', none, join(folder, 'nothing.ndjson'));
  t.is(status, 1);
  t.is(stderr, `there is nothing to export: DATA_DIR ${none} holds no memory.sqlite\n`);
  t.false(existsSync(none));
  t.false(existsSync(join(folder, 'nothing.ndjson.part')));
});

function run(command: 'export' | 'import', dataDir: string, file: string): SpawnSyncReturns<string> {
  const path = join(import.meta.dirname, `${command}.ts`);
  const env = { ...processEnv(), DATA_DIR: dataDir, LOG_LEVEL: 'silent' };
  return spawnSync(process.execPath, [path, file], { encoding: 'utf8', env });
}
