import test from 'ava';
import { notFound, unavailable } from '@agent-workflow/kit/errors';
import type { RunFileInfo, RunFiles } from '@agent-workflow/protos/run-files';
import { bindFiles } from './bound-files.ts';
import { isServiceAway } from './node-calls.ts';

const claim = { owner: 'u:ada', runId: 'r1', epoch: 3 };
const { signal } = new AbortController();
const info = (size: number): RunFileInfo => ({
  ...{ fileId: 'f1', filename: 'a.txt', contentType: 'text/plain', size, sha256: 'ab' },
});

const refuse = (): never => {
  throw new Error('not expected');
};
const none: RunFiles = { info: refuse, read: refuse, write: refuse };

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

const textOf = async (bytes: AsyncIterable<Uint8Array>): Promise<string> =>
  Buffer.concat(await Array.fromAsync(bytes)).toString();

test('a file is read with the claim of its run, whole and as it comes', async (t) => {
  const asked: unknown[] = [];
  const files: RunFiles = {
    ...none,
    info: async (by, id) => {
      asked.push([by, id]);
      return info(4);
    },
    read: (by, id) => {
      asked.push([by, id]);
      return chunks('ab', 'cd');
    },
  };
  const file = await bindFiles(files, { claim, signal }).read('f1');
  t.deepEqual(file.info, info(4));
  t.is(Buffer.from(await file.bytes()).toString(), 'abcd');
  t.is(await textOf(file.stream()), 'abcd');
  t.deepEqual(asked, [
    [claim, 'f1'],
    [claim, 'f1'],
    [claim, 'f1'],
  ]);
});

test('a file of more bytes than the bound is refused by its size before it is read', async (t) => {
  const bound = bindFiles({ ...none, info: async () => info(17 * 1024 * 1024) }, { claim, signal });
  const file = await bound.read('f1');
  await t.throwsAsync(file.bytes(), { instanceOf: RangeError, message: /has 17825792 bytes, more than 16777216/ });
  await t.throwsAsync(file.bytes({ maxBytes: 1 }), { message: /more than 1:/ });
});

test('text and bytes are written again while the store is away, each time whole', async (t) => {
  const written: string[] = [];
  const files: RunFiles = {
    ...none,
    write: async (_, { bytes }) => {
      written.push(await textOf(bytes));
      if (written.length === 1) throw unavailable('away');
      return info(4);
    },
  };
  const away: unknown[] = [];
  const bound = bindFiles(files, { claim, signal, onAway: (error) => away.push(error) });
  t.deepEqual(await bound.write({ filename: 'a.txt', data: 'grün' }), info(4));
  t.deepEqual([written, away.length], [['grün', 'grün'], 1]);
});

test('a stream is sent once, and its failure counts as an outage', async (t) => {
  let calls = 0;
  const files: RunFiles = {
    ...none,
    write: async () => {
      calls += 1;
      throw unavailable('away');
    },
  };
  const bound = bindFiles(files, { claim, signal });
  const error = await t.throwsAsync(bound.write({ filename: 'a.txt', data: chunks('a') }));
  t.deepEqual([calls, isServiceAway(error)], [1, true]);
});

test('a file that ends early is an outage, and one that does not exist is not', async (t) => {
  const short: RunFiles = { ...none, info: async () => info(3), read: () => chunks('ab') };
  const file = await bindFiles(short, { claim, signal, forMs: 0 }).read('f1');
  t.true(isServiceAway(await t.throwsAsync(file.bytes())));
  const absent: RunFiles = {
    ...none,
    info: async () => {
      throw notFound('no');
    },
  };
  t.false(isServiceAway(await t.throwsAsync(bindFiles(absent, { claim, signal }).read('f1'), { message: 'no' })));
});

test('a worker without files, and wrong arguments, are named', async (t) => {
  const off = bindFiles(undefined, { claim, signal });
  await t.throwsAsync(off.read('f1'), { message: /FILES_URL and FILES_SECRET are not set/ });
  await t.throwsAsync(off.write({ filename: 'a', data: 'a' }), { message: /FILES_URL/ });
  const bound = bindFiles(none, { claim, signal });
  await t.throwsAsync(bound.read(7 as never), { instanceOf: TypeError, message: /id of a file/ });
  await t.throwsAsync(bound.write({ filename: '', data: 'a' }), { message: /filename must be/ });
  await t.throwsAsync(bound.write({ filename: 'a', data: 7 as never }), { message: /data of a file must be/ });
  await t.throwsAsync(bound.write({ filename: 'a', data: null as never }), { message: /data of a file must be/ });
});
