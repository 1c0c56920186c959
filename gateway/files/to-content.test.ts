import test from 'ava';
import { createLog } from '@agent-workflow/kit/log';
import type { FileRecord } from '@agent-workflow/protos/threads';
import { toContent } from './to-content.ts';

const record: FileRecord = {
  ...{ owner: 'anon', fileId: 'f', filename: 'a.txt', size: 10, sha256: 'x', createdAt: 0, status: 'stored' },
};

/** What is read of a file whose store has these chunks. */
async function read(
  chunks: readonly string[],
  range?: { readonly start: number; readonly end: number },
): Promise<string> {
  const stored = async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk);
  };
  const bytes = {
    bufferBytes: 1,
    check: () => Promise.resolve(),
    write: () => Promise.reject(new Error('not used')),
    read: () => Promise.resolve(stored()),
    remove: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const content = toContent(record, {
    files: { bytes, meters: undefined },
    log: createLog('test', 'silent'),
    isEmbeddable: false,
  });
  let text = '';
  for await (const chunk of await content.open(range, new AbortController().signal))
    text += Buffer.from(chunk).toString();
  return text;
}

test('a file is read whole, and in part', async (t) => {
  t.is(await read(['01234', '56789']), '0123456789');
  t.is(await read(['234'], { start: 2, end: 4 }), '234');
});

test('a store with fewer or more bytes than the record says fails at the end of what may be sent', async (t) => {
  await t.throwsAsync(read(['01234']), { code: 'StorageFailed' });
  await t.throwsAsync(read(['01234', '567890']), { code: 'StorageFailed' });
});
