/**
 * PostgreSQL takes any character in a text but U+0000, and ids and names of callers may hold it. It is stored as two characters
 * U+0001, and U+0001 itself as U+0001 U+0002: different texts stay different, and their order stays the same.
 */
export const toText = (value: string): string =>
  /[\0\x01]/.test(value) ? value.replace(/[\0\x01]/g, (char) => (char === '\0' ? '\x01\x01' : '\x01\x02')) : value;

/** The text that {@link toText} was given. */
export const fromText = (stored: string): string =>
  stored.includes('\x01')
    ? stored.replace(/\x01([\x01\x02])/g, (_, char) => (char === '\x01' ? '\0' : '\x01'))
    : stored;
