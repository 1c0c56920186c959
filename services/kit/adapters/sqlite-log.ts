import { fdatasyncSync, fstatSync, readSync, writeSync } from 'node:fs';

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
  const header = readAt(fd, 0, headerBytes);
  const first = header.length === headerBytes ? header.readUInt32BE(0) : 0;
  if ((first & ~1) >>> 0 !== magic) return 0;
  const isBigEndian = (first & 1) === 1;
  const frameBytes = frameHeaderBytes + header.readUInt32BE(8);
  const salt = header.subarray(16, 24);
  let sum = addTo([0, 0], header.subarray(0, 24), isBigEndian);
  if (!endsWith(header, 24, sum)) return 0;
  writeAt(fd, header, 0);
  const { size } = fstatSync(fd);
  let frames = 0;
  for (let at = headerBytes; at + frameBytes <= size; at += frameBytes, frames++) {
    const frame = readAt(fd, at, frameBytes);
    if (!frame.subarray(8, 16).equals(salt)) break;
    sum = addTo(sum, frame.subarray(0, 8), isBigEndian);
    sum = addTo(sum, frame.subarray(frameHeaderBytes), isBigEndian);
    if (!endsWith(frame, 16, sum)) break;
    writeAt(fd, frame, at);
  }
  fdatasyncSync(fd);
  return frames;
}

type Sum = readonly [number, number];

/** The checksum of SQLite: two sums over pairs of words, each of which takes the other in. */
function addTo([first, second]: Sum, bytes: Buffer, isBigEndian: boolean): Sum {
  let [s0, s1] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    const [x, y] = isBigEndian
      ? [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
      : [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)];
    s0 = (s0 + x + s1) >>> 0;
    s1 = (s1 + y + s0) >>> 0;
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
