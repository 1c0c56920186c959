import { createHash } from 'node:crypto';
import test from 'ava';
import { notFound, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { RunFileInfo, RunFiles } from '@agent-workflow/protos/run-files';
import { bindFiles } from './bound-files.ts';
import { isServiceAway } from './node-calls.ts';

const claim = { owner: 'u:ada', runId: 'r1', epoch: 3 };
const { signal } = new AbortController();
const info = (size: number): RunFileInfo => ({
  ...{ fileId: 'f1', filename: 'a.txt', contentType: 'text/plain', size, sha256: 'ab' },
});
const infoOf = (text: string): RunFileInfo => ({
  ...info(Buffer.byteLength(text)),
  sha256: createHash('sha256').update(text).digest('hex'),
});

const refuse = (): never => {
  throw new Error('not expected');
};
const none: RunFiles = { info: refuse, read: refuse, write: refuse };

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

async function* failing(error: Error): AsyncGenerator<Uint8Array> {
  yield Buffer.from('a');
  throw error;
}

const textOf = async (bytes: AsyncIterable<Uint8Array>): Promise<string> =>
  Buffer.concat(await Array.fromAsync(bytes)).toString();

test('a file is read with the claim of its run, whole and as it comes', async (t) => {
  const asked: unknown[] = [];
  const files: RunFiles = {
    ...none,
    info: async (by, id) => {
      asked.push([by, id]);
      return infoOf('abcd');
    },
    read: (by, id) => {
      asked.push([by, id]);
      return chunks('ab', 'cd');
    },
  };
  const file = await bindFiles(files, { claim, signal }).read('f1');
  t.deepEqual(file.info, infoOf('abcd'));
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

test('text and bytes are written again while the store is unavailable, each time whole', async (t) => {
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

test('a stream of which little was read is written again whole, also when the first writer still reads', async (t) => {
  const written: string[] = [];
  let late: Promise<unknown> | undefined;
  const files: RunFiles = {
    ...none,
    write: async (_, { bytes }) => {
      if (late === undefined) {
        const reader = bytes[Symbol.asyncIterator]();
        await reader.next();
        late = reader.next();
        throw unavailable('away');
      }
      written.push(await textOf(bytes));
      return info(4);
    },
  };
  const bound = bindFiles(files, { claim, signal });
  t.deepEqual(await bound.write({ filename: 'a.txt', data: chunks('a', 'b', 'c'.repeat(2 ** 20), 'd') }), info(4));
  t.deepEqual(written, [`ab${'c'.repeat(2 ** 20)}d`]);
  await late;
});

test('a stream of which much was read, or that fails, is sent once, and its source is left', async (t) => {
  for (const [source, ends] of [
    [chunks('a'.repeat(2 ** 20), 'b', 'c'), true],
    [failing(unavailable('the source is unavailable')), false],
  ] as const) {
    let calls = 0;
    const files: RunFiles = {
      ...none,
      write: async (_, { bytes }) => {
        calls += 1;
        const reader = bytes[Symbol.asyncIterator]();
        await reader.next();
        await reader.next();
        throw unavailable('away');
      },
    };
    const error = await t.throwsAsync(bindFiles(files, { claim, signal }).write({ filename: 'a.txt', data: source }));
    t.deepEqual([calls, isServiceAway(error)], [1, true]);
    t.is(error.message, ends ? 'away' : 'the source is unavailable');
    t.true((await source.next()).done);
  }
});

/** A file whose reads give what `read` gives, by the byte from which it is asked for; `from` has those bytes. */
const readable = (text: string, read: (from: number, reads: number) => AsyncIterable<Uint8Array>) => {
  const from: number[] = [];
  const files: RunFiles = {
    ...none,
    info: async () => infoOf(text),
    read: (_, __, ___, at = 0) => {
      from.push(at);
      return read(at, from.length);
    },
  };
  return { files, from };
};

async function* cutOff(text: string, error: Error): AsyncGenerator<Uint8Array> {
  if (text !== '') yield Buffer.from(text);
  throw error;
}

const lost = (): Error => new ServiceError('StorageFailed', 'the store has another number of bytes');

test('a file that is cut off, or whose store goes away, is read on from the byte that is missing', async (t) => {
  const read = (from: number, reads: number): AsyncIterable<Uint8Array> => {
    if (reads === 1) return cutOff('ab', lost());
    if (reads === 2) return cutOff('', unavailable('away'));
    return reads === 3 ? chunks('c') : chunks('abcdef'.slice(from));
  };
  for (const way of ['bytes', 'stream'] as const) {
    const { files, from } = readable('abcdef', read);
    const file = await bindFiles(files, { claim, signal }).read('f1');
    t.is(way === 'bytes' ? Buffer.from(await file.bytes()).toString() : await textOf(file.stream()), 'abcdef', way);
    t.deepEqual(from, [0, 2, 2, 3], way);
  }
});

test('a file that has lost bytes is asked for a few times, and then fails the node', async (t) => {
  const { files, from } = readable('abc', (at) => (at === 0 ? cutOff('ab', lost()) : cutOff('', lost())));
  const file = await bindFiles(files, { claim, signal }).read('f1');
  const error = await t.throwsAsync(file.bytes(), {
    message: /^file "f1" is damaged: the store gives 2 of its 3 bytes$/,
  });
  t.false(isServiceAway(error));
  t.deepEqual(from, [0, 2, 2]);
});

test('a file of other bytes is read twice, a stream of them once, and then fails the node', async (t) => {
  const { files, from } = readable('abc', () => chunks('ab', 'd'));
  const file = await bindFiles(files, { claim, signal }).read('f1');
  const expected = { message: /^file "f1" is damaged: its bytes have another SHA-256/ };
  t.false(isServiceAway(await t.throwsAsync(file.bytes(), expected)));
  t.deepEqual(from, [0, 0]);
  t.false(isServiceAway(await t.throwsAsync(textOf(file.stream()), expected)));
  t.deepEqual(from, [0, 0, 0]);
});

test('a file of more bytes than its record says fails the node', async (t) => {
  const { files } = readable('abc', () => chunks('abcd'));
  const file = await bindFiles(files, { claim, signal }).read('f1');
  await t.throwsAsync(file.bytes(), { message: /is damaged: the store gives 0 of its 3 bytes/ });
});

test('a store that is unavailable for too long is an outage, and a file that does not exist is not', async (t) => {
  const { files } = readable('abc', () => cutOff('', unavailable('away')));
  const file = await bindFiles(files, { claim, signal, forMs: 0 }).read('f1');
  t.true(isServiceAway(await t.throwsAsync(file.bytes())));
  const absent: RunFiles = {
    ...none,
    info: async () => {
      throw notFound('no');
    },
  };
  t.false(isServiceAway(await t.throwsAsync(bindFiles(absent, { claim, signal }).read('f1'), { message: 'no' })));
});

test('whoever leaves a stream closes what was opened for it', async (t) => {
  let isClosed = false;
  async function* closing(): AsyncGenerator<Uint8Array> {
    try {
      yield* chunks('ab', 'c');
    } finally {
      isClosed = true;
    }
  }
  const file = await bindFiles(readable('abc', closing).files, { claim, signal }).read('f1');
  for await (const chunk of file.stream()) {
    t.is(chunk.byteLength, 2);
    break;
  }
  t.true(isClosed);
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

test('a stream of texts is refused by what it gives, once, and its source is left', async (t) => {
  let isLeft = false;
  let calls = 0;
  async function* texts(): AsyncGenerator<string> {
    try {
      yield 'a';
      yield 'b';
    } finally {
      isLeft = true;
    }
  }
  const files: RunFiles = {
    ...none,
    write: async (_, { bytes }) => {
      calls += 1;
      await bytes[Symbol.asyncIterator]().next();
      throw new Error('the stream was taken');
    },
  };
  const data = texts() as unknown as AsyncIterable<Uint8Array>;
  await t.throwsAsync(bindFiles(files, { claim, signal }).write({ filename: 'a.txt', data }), {
    instanceOf: TypeError,
    message: 'a stream of a file must give bytes, not string: encode texts with TextEncoder',
  });
  t.deepEqual([calls, isLeft], [1, true]);
});
