import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** A file system of its own that a test can fill. Disposal unmounts it. */
interface SmallDisk extends AsyncDisposable {
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

/** A disk whose file system can report an error, as one that fails does: it is read-only from then on, whoever has files open. */
interface FailingDisk extends AsyncDisposable {
  readonly folder: string;
  readonly makeReadOnly: () => void;
  /** Checks the file system and mounts it again. Nobody may have a file of it open. */
  readonly repair: () => void;
}

/** Makes one in a file, with a loop device; gives why not where that is not allowed. */
export async function openFailingDisk(mebibytes: number): Promise<FailingDisk | string> {
  const around = await mkdtemp(join(tmpdir(), 'failing-disk-'));
  const image = join(around, 'image');
  const folder = join(around, 'mounted');
  try {
    mkdirSync(folder);
    writeFileSync(image, '');
    truncateSync(image, mebibytes * 1024 * 1024);
    runQuietly('mkfs.ext4', ['-q', image]);
    mount('-o', 'loop,errors=remount-ro', image, folder);
    readdirSync(`/sys/fs/ext4/${deviceOf(folder)}`);
  } catch (error) {
    await rm(around, { recursive: true });
    return `there are no loop devices here (${String(error).split('\n', 1).join('')})`;
  }
  return {
    folder,
    makeReadOnly: () => {
      const device = deviceOf(folder);
      writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, '1');
    },
    repair: () => {
      execFileSync('umount', [folder]);
      checkFileSystem(image);
      mount('-o', 'loop,errors=remount-ro', image, folder);
    },
    [Symbol.asyncDispose]: async () => {
      execFileSync('umount', ['--lazy', folder]);
      await rm(around, { recursive: true });
    },
  };
}

/** What mends a file system ends with 1 when it has mended something. */
function checkFileSystem(image: string): void {
  try {
    runQuietly('e2fsck', ['-fy', image]);
  } catch (error) {
    if ((error as { readonly status?: number }).status !== 1) throw error;
  }
}

const deviceOf = (folder: string): string =>
  basename(execFileSync('findmnt', ['-no', 'SOURCE', folder], { encoding: 'utf8' }).trim());

function runQuietly(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function mount(...args: readonly string[]): void {
  runQuietly('mount', args);
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

/** What starts a process whose files may not grow. */
export const withoutGrowth: readonly string[] = ['prlimit', '--fsize=0:unlimited', '--'];

/** What starts a process that may write only where the mode of a file lets it, also as root. */
export const boundByModes: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-dac_override', '--'] : [];
