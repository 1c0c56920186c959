import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own that a test can fill. Disposal unmounts it. */
export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  /** Leaves no byte free. */
  readonly fill: () => void;
  /** Gives back what `fill` took. */
  readonly free: () => void;
  /** Nobody may have a file open for writing. */
  readonly makeReadOnly: () => void;
}

/** Mounts one in memory; gives why not where mounting is not allowed, as without root. */
export async function openSmallDisk(mebibytes: number): Promise<SmallDisk | string> {
  const folder = await mkdtemp(join(tmpdir(), 'small-disk-'));
  try {
    mount('-t', 'tmpfs', '-o', `size=${String(mebibytes)}m`, 'tmpfs', folder);
  } catch (error) {
    await rm(folder, { recursive: true });
    return `mounting is not allowed here (${String(error).split('\n', 1).join('')})`;
  }
  const filler = join(folder, 'filler');
  return {
    folder,
    fill: () => fill(filler),
    free: () => rmSync(filler, { force: true }),
    makeReadOnly: () => mount('-o', 'remount,ro', folder),
    [Symbol.asyncDispose]: async () => {
      execFileSync('umount', ['--lazy', folder]);
      await rm(folder, { recursive: true });
    },
  };
}

function mount(...args: readonly string[]): void {
  execFileSync('mount', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function fill(file: string): void {
  const fd = openSync(file, 'a');
  try {
    for (const size of [1024 * 1024, 4096, 1]) writeUntilFull(fd, Buffer.alloc(size));
  } finally {
    closeSync(fd);
  }
}

function writeUntilFull(fd: number, bytes: Buffer): void {
  try {
    for (;;) writeSync(fd, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

/** Bounds how large files of a process may grow, in bytes, or takes the bound away: what stands in for a full disk without mounting. */
export function boundFiles(pid: number, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', [`--pid=${String(pid)}`, `--fsize=${String(bytes)}:unlimited`]);
}
