import { fdatasyncSync, fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs';

/** Format of SQLite's write-ahead log: a header, then frames of a header and a page each. */
const headerBytes = 32;
const frameHeaderBytes = 24;
/** The last bit of the header's first word says that checksums read words as big-endian. */
const magic = 0x377f0682;

/**
 * Writes the log again, as it is read now, and puts it on disk. After a failed sync the system may call pages clean that never
 * reached the disk, and a later sync that succeeds says nothing about them: only what is written again is known to be synced.
 * Each frame carries a checksum over all that stands before it, so that a page that the system has dropped meanwhile is noticed.
 * @returns how many frames were there and in order.
 * @throws what the file system says.
 */
export function rewriteLog(fd: number): number {
  let frames = -1;
  for (const { at, bytes } of soundParts(fd)) {
    writeAt(fd, bytes, at);
    frames++;
  }
  if (frames === -1) return 0;
  fdatasyncSync(fd);
  return frames;
}

/**
 * Cuts off what comes after the last whole transaction of a log that has fewer frames in order than SQLite counts. SQLite copies
 * the log into its file when the file is closed, without a look at the checksums: a dropped page would damage the file. What is cut
 * off it cannot read, so it leaves the log as it is, and the next start finds every whole transaction in it.
 * @throws what the file system says.
 */
export function cutTornLog(fd: number, frames: number): void {
  let sound = -1;
  let end = 0;
  for (const { at, bytes } of soundParts(fd)) {
    sound++;
    if (at === 0 || isCommit(bytes)) end = at + bytes.length;
  }
  if (sound < frames) ftruncateSync(fd, end);
}

/** The header of a frame says how many pages the file has after a transaction, in its last frame alone. */
const isCommit = (frame: Buffer): boolean => frame.readUInt32BE(4) !== 0;

interface LogPart {
  readonly at: number;
  readonly bytes: Buffer;
}

/** The header of the log and its frames, as far as their checksums hold. */
function* soundParts(fd: number): Generator<LogPart> {
  const header = readAt(fd, 0, headerBytes);
  const first = header.length === headerBytes ? header.readUInt32BE(0) : 0;
  if ((first & ~1) >>> 0 !== magic) return;
  const isBigEndian = (first & 1) === 1;
  const frameBytes = frameHeaderBytes + header.readUInt32BE(8);
  const salt = header.subarray(16, 24);
  let sum = addTo([0, 0], header.subarray(0, 24), isBigEndian);
  if (!endsWith(header, 24, sum)) return;
  yield { at: 0, bytes: header };
  const { size } = fstatSync(fd);
  for (let at = headerBytes; at + frameBytes <= size; at += frameBytes) {
    const frame = readAt(fd, at, frameBytes);
    if (!frame.subarray(8, 16).equals(salt)) return;
    sum = addTo(sum, frame.subarray(0, 8), isBigEndian);
    sum = addTo(sum, frame.subarray(frameHeaderBytes), isBigEndian);
    if (!endsWith(frame, 16, sum)) return;
    yield { at, bytes: frame };
  }
}

type Sum = readonly [number, number];

/** The checksum of SQLite: two sums over pairs of words, each of which takes the other in. */
function addTo([first, second]: Sum, bytes: Buffer, isBigEndian: boolean): Sum {
  // No list a pair: the log of a new file has thousands of pairs at each start.
  const word = (at: number): number => (isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));
  let [s0, s1] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    s0 = (s0 + word(at) + s1) >>> 0;
    s1 = (s1 + word(at + 4) + s0) >>> 0;
  }
  return [s0, s1];
}

const endsWith = (bytes: Buffer, at: number, [s0, s1]: Sum): boolean =>
  bytes.readUInt32BE(at) === s0 && bytes.readUInt32BE(at + 4) === s1;

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(fd, bytes, 0, length, position));
}

function writeAt(fd: number, bytes: Buffer, position: number): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, position + at);
}
