import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLog } from '@agent-workflow/kit/log';
import { never } from '@agent-workflow/protos/call';
import type { FileRecord } from '@agent-workflow/protos/threads';
import test from 'ava';
import type { FileStore } from './open.ts';
import { createRunFiles } from './run-files.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const refuse = (): never => {
  throw new Error('not expected');
};

test('of a stream that is written, no chunk stays in memory once it was stored', async (t) => {
  const seen: WeakRef<Uint8Array>[] = [];
  let held = 0;
  async function* source(): AsyncGenerator<Uint8Array> {
    for (let chunk = 0; chunk < 50; chunk++) {
      const bytes = randomBytes(70_000);
      seen.push(new WeakRef(bytes));
      yield bytes;
      await nextTurn();
    }
  }
  const write = async (_: unknown, bytes: AsyncIterable<Uint8Array>) => {
    let size = 0;
    for await (const chunk of bytes) size += chunk.byteLength;
    await nextTurn();
    collect();
    held = seen.filter((each) => each.deref() !== undefined).length;
    return { size, sha256: '' };
  };
  const limits = { maxFileBytes: 1e9, uploadMs: 60_000, maxFiles: 1, maxBytes: 1e9, ttlMs: 1 };
  const files = { kind: 'folder', limits, bytes: { write } } as unknown as FileStore;
  const record = { fileId: 'f', filename: 'a', status: 'uploading', size: 1, sha256: '' } as FileRecord;
  const threads = {
    getRun: async () => ({ status: 'running', epoch: 1 }),
    beginFile: async () => record,
    finishFile: async () => record,
    ...{ getFile: refuse, deleteFile: refuse, forgetFile: refuse },
  };
  const runFiles = createRunFiles({
    threads: threads as never,
    files,
    log: createLog('test', 'error'),
    callTimeoutMs: 1000,
  });
  await runFiles.write({ owner: 'u:ada', runId: 'r1', epoch: 1 }, { filename: 'a', bytes: source() }, never);
  t.is(seen.length, 50);
  // The first is held by whoever looks at the type, the last by the loop.
  t.true(held <= 3, `${String(held)} of 50 chunks are held`);
});
