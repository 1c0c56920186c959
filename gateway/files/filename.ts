/** The longest name of a file, in bytes of UTF-8. */
export const maxFilenameBytes = 255;

/** Control characters, and those that turn the direction of writing, so that `gpj.exe` could be read as another name. */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * A name of a file without its folders and without what is not printed, cut to 255 bytes before its ending; `file` when nothing is
 * left. It is shown and sent, and never part of a path.
 */
export function cleanFilename(given: string): string {
  const base = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1);
  const name = base.toWellFormed().normalize('NFC').replace(unprintable, '').trim();
  if (name === '' || name === '.' || name === '..') return 'file';
  if (Buffer.byteLength(name) <= maxFilenameBytes) return name;
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 && Buffer.byteLength(name.slice(dot)) <= maxEndingBytes ? name.slice(dot) : '';
  return cut(name.slice(0, name.length - ending.length), maxFilenameBytes - Buffer.byteLength(ending)) + ending;
}

const maxEndingBytes = 16;

/** The first characters that are no more than so many bytes. */
function cut(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
