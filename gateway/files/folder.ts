import { access, constants, mkdir, open, rename, rm, statfs, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { chunksOf } from './chunks.ts';
import { measured } from './measured.ts';
import { placeOf } from './place.ts';
import type { FileBytes } from './port.ts';
import { unless } from './unless.ts';

/** How much of a file is read at once, in bytes. */
const readBytes = 64 * 1024;

/** Of a write: a few chunks as the socket gives them. */
const bufferBytes = 512 * 1024;

/**
 * Keeps files in a folder of a file system, which several processes may share. Bytes are written to a file of another name and
 * renamed when they are on disk, so that no reader sees a part.
 */
export function openFolderFiles(folder: string): FileBytes {
  return {
    bufferBytes,
    write: (key, bytes, signal) =>
      translated(async () => {
        const path = join(folder, placeOf(key));
        const { bytes: passing, result } = measured(bytes, signal);
        await makeFolder(dirname(path));
        try {
          await writeWhole(partOf(path), passing);
          await rename(partOf(path), path);
          await syncFolder(dirname(path));
        } catch (error) {
          await rm(partOf(path), { force: true });
          await rm(path, { force: true });
          throw error;
        }
        return result();
      }),
    read: (key, { range, signal }) =>
      translated(async () => {
        const file = await openIfThere(join(folder, placeOf(key)));
        // The stream closes the file when it ends, fails, its reader leaves, or the signal fires before anybody has read.
        return file && chunksOf(file.createReadStream({ ...range, highWaterMark: readBytes, signal }), toServiceError);
      }),
    check: (signal) => translated(() => unless(signal, refuseUnfit(resolve(folder)))),
    remove: (key, signal) =>
      translated(async () => {
        const path = join(folder, placeOf(key));
        await unless(signal, rm(path, { force: true }));
        await unless(signal, rm(partOf(path), { force: true }));
      }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** @throws Unavailable, or what the file system throws, when no file can be written there now. */
async function refuseUnfit(folder: string): Promise<void> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const { blocks, bavail } = await statfs(folder);
    // A file system that knows no size has no blocks.
    if (blocks > 0 && bavail === 0) throw fullStore();
  } catch (error) {
    if (!isAbsent(error)) throw error;
    // It is made with the first file, and so is what is missing above it.
    await refuseUnfit(dirname(folder));
  }
}

/** Makes the folder and those above it, one after the other: where a file system takes none, as `/proc`, Node's `recursive` tries for ever. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdirUnlessThere(folder);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    await makeFolder(dirname(folder));
    await mkdirUnlessThere(folder);
  }
}

async function mkdirUnlessThere(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
  }
}

const partOf = (path: string): string => `${path}.part`;

async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await using file = await open(path, 'w', 0o600);
  for await (const chunk of bytes) await writeChunk(file, chunk);
  await file.sync();
}

/** A system call may write less than it was given. */
async function writeChunk(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength;) at += (await file.write(chunk, at)).bytesWritten;
}

/** A name that was renamed outlives a power cut when its folder is on disk. */
async function syncFolder(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toServiceError(error);
  }
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;

const isAbsent = (error: unknown): boolean => isSystemError(error) && error.code === 'ENOENT';

const full = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** What the file system threw; other errors, as those of the bytes that were to be written, stay as they are. */
function toServiceError(error: unknown): unknown {
  if (error instanceof ServiceError || !isSystemError(error)) return error;
  return full.has(error.code ?? '') ? fullStore(error) : unavailable('the store of files is not available', error);
}

/** A full disk is not emptied within a second. */
const fullRetryMs = 60_000;

const fullStore = (cause?: unknown): ServiceError => unavailable('the store of files is full', cause, fullRetryMs);
