/** A part of a file: the positions of its first and of its last byte. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const oneRange = /^bytes=(\d*)-(\d*)$/i;

/**
 * The one part of `size` bytes that a `Range` header names; `unsatisfiable` for one that begins after the last byte. `undefined` for a
 * header that names several parts, or that is ignored because it is not valid (RFC 9110, 14.2), as `bytes=5-2`: all is sent then. We
 * read it ourselves, because `range-parser` takes invalid parts, and suffixes longer than the file, for unsatisfiable ones.
 */
export function readByteRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = oneRange.exec(header) ?? [];
  if (first === undefined || last === undefined || first + last === '') return undefined;
  if (first === '') return toSatisfiable({ start: Math.max(0, size - Number(last)), end: size - 1 }, size);
  if (last !== '' && Number(last) < Number(first)) return undefined;
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return toSatisfiable({ start: Number(first), end }, size);
}

const toSatisfiable = (range: ByteRange, size: number): ByteRange | 'unsatisfiable' =>
  range.start < size ? range : 'unsatisfiable';
