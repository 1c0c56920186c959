import { createHash, randomBytes } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import type { FileBytes, FileKey } from '@agent-workflow/gateway/files/port';
import { never } from '@agent-workflow/protos/call';

/** An empty store, and what a write leaves that did not end. */
interface OpenFileBytes {
  readonly bytes: FileBytes;
  /** How many things are stored, those of unfinished writes too. */
  readonly count: () => Promise<number>;
}

const MiB = 1024 * 1024;

/** What any store of bytes must promise. `open` gives an empty one each time. */
export function fileBytesContract(
  test: TestFn,
  name: string,
  open: (t: ExecutionContext) => Promise<OpenFileBytes>,
): void {
  const check = (title: string, body: (t: ExecutionContext, opened: OpenFileBytes) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      const opened = await open(t);
      await using bytes = opened.bytes;
      await body(t, { ...opened, bytes });
    });
  };
  const key: FileKey = { owner: 'u:ada', fileId: 'file-1' };

  for (const size of [0, 1, 70_000, 5 * MiB, 12 * MiB + 3]) {
    check(`${String(size)} bytes come back as they were, with their size and hash`, async (t, { bytes }) => {
      const content = randomBytes(size);
      const written = await bytes.write(key, inChunks(content), never);
      t.deepEqual(written, { size, sha256: createHash('sha256').update(content).digest('hex') });
      t.true(content.equals(await readAll(bytes, key)));
    });
  }

  check('a store that can be used says so, before anything is in it too', async (t, { bytes, count }) => {
    await t.notThrowsAsync(bytes.check(never));
    t.is(await count(), 0);
  });

  check('a part is read from its first to its last byte', async (t, { bytes }) => {
    const content = randomBytes(300_000);
    await bytes.write(key, inChunks(content), never);
    for (const [start, end] of [
      [0, 0],
      [0, 299_999],
      [299_999, 299_999],
      [65_535, 65_536],
      [100, 250_000],
    ] as const)
      t.true(
        content.subarray(start, end + 1).equals(await readAll(bytes, key, { start, end })),
        `${String(start)}-${String(end)}`,
      );
  });

  check('of a part that ends or begins after the last byte, there is what the file has', async (t, { bytes }) => {
    await bytes.write(key, inChunks(Buffer.from('abcd')), never);
    t.is((await readAll(bytes, key, { start: 2, end: 9 })).toString(), 'cd');
    for (const start of [4, 8]) t.is((await readAll(bytes, key, { start, end: 9 })).toString(), '', String(start));
  });

  check('files of other owners and ids are absent, whatever the texts are', async (t, { bytes }) => {
    const texts = ['a', 'A', 'a/b', '../a', '', 'ä', 'a\u0000', 'b","c', '日本', 'x'.repeat(300)];
    const keys = texts.flatMap((owner) => texts.map((fileId) => ({ owner, fileId })));
    for (const [index, each] of keys.entries())
      if (index % 2 === 0) await bytes.write(each, inChunks(Buffer.from(JSON.stringify(each))), never);
    for (const [index, each] of keys.entries()) {
      const content = await readIfThere(bytes, each);
      t.is(content?.toString(), index % 2 === 0 ? JSON.stringify(each) : undefined, JSON.stringify(each));
    }
  });

  for (const sent of [0, 1000, 11 * MiB]) {
    check(
      `of a write that fails after ${String(sent)} bytes nothing is left, and its error is thrown`,
      async (t, { bytes, count }) => {
        const broken = new Error('the sender is gone');
        const failing = async function* (): AsyncGenerator<Uint8Array> {
          yield* inChunks(randomBytes(sent));
          await Promise.resolve();
          throw broken;
        };
        t.is(await t.throwsAsync(bytes.write(key, failing(), never)), broken);
        t.is(await bytes.read(key, { signal: never }), undefined);
        t.is(await count(), 0);
      },
    );
  }

  check('a write that is aborted ends, and leaves nothing', async (t, { bytes, count }) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      for (let chunk = 0; ; chunk++) {
        if (chunk === 200) controller.abort(reason);
        yield randomBytes(64 * 1024);
        await Promise.resolve();
      }
    };
    t.is(await t.throwsAsync(bytes.write(key, endless(), controller.signal)), reason);
    t.is(await bytes.read(key, { signal: never }), undefined);
    t.is(await count(), 0);
  });

  check('nothing can be read before the write has ended', async (t, { bytes }) => {
    const mayEnd = Promise.withResolvers<undefined>();
    const sent = Promise.withResolvers<undefined>();
    const slow = async function* (): AsyncGenerator<Uint8Array> {
      yield* inChunks(randomBytes(6 * MiB));
      sent.resolve(undefined);
      await mayEnd.promise;
    };
    const writing = bytes.write(key, slow(), never);
    await sent.promise;
    t.is(await bytes.read(key, { signal: never }), undefined);
    mayEnd.resolve(undefined);
    await writing;
    t.is((await readAll(bytes, key)).length, 6 * MiB);
  });

  check('what is removed is absent, and is removed again without harm', async (t, { bytes, count }) => {
    const other = { ...key, fileId: 'file-2' };
    for (const each of [key, other]) await bytes.write(each, inChunks(Buffer.from('x')), never);
    await bytes.remove(key, never);
    t.is(await bytes.read(key, { signal: never }), undefined);
    await bytes.remove(key, never);
    t.is((await readAll(bytes, other)).toString(), 'x');
    await bytes.remove(other, never);
    t.is(await count(), 0);
  });

  check('a reader who leaves early costs nothing to those who come after', async (t, { bytes }) => {
    const content = randomBytes(3 * MiB);
    await bytes.write(key, inChunks(content), never);
    for (let reader = 0; reader < 60; reader++) {
      for await (const chunk of (await bytes.read(key, { signal: never })) ?? []) {
        t.true(chunk.length > 0);
        break;
      }
    }
    t.true(content.equals(await readAll(bytes, key)));
  });
}

/** As a socket gives them. */
async function* inChunks(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 65_536) {
    await Promise.resolve();
    yield content.subarray(at, at + 65_536);
  }
}

async function readIfThere(
  bytes: FileBytes,
  key: FileKey,
  range?: { start: number; end: number },
): Promise<Buffer | undefined> {
  const content = await bytes.read(key, { range, signal: never });
  return content && Buffer.concat(await Array.fromAsync(content));
}

const readAll = async (bytes: FileBytes, key: FileKey, range?: { start: number; end: number }): Promise<Buffer> =>
  (await readIfThere(bytes, key, range)) ?? Buffer.from('(absent)');
