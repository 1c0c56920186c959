/** Unicode's limit for stream-safe text (UAX #15) is 30 marks on one letter; no language needs more. */
const longRun = /(\p{M}{30})\p{M}+/gu;

/**
 * Drops the marks after the 30th of each run. Normalising sorts a run of marks in a time that grows with the square of its length:
 * 100 KB of marks block the process for 20 seconds.
 */
export const limitMarks = (text: string): string => text.replace(longRun, '$1');

/**
 * A text as it is compared: compatible letters (full-width ones, ligatures), composed and decomposed ones, upper and lower case are the
 * same, and so are `İ`, `I`, `ı` and `i`. It is a pure function: the forms of letters that Unicode has never change.
 */
export const foldText = (text: string): string => (isAscii.test(text) ? text.toLowerCase() : foldLetters(text));

const isAscii = /^[\0-\x7f]*$/;

/** Lower case is made twice: `ẞ` and `ß` both become `ss` by way of capitals. */
const foldLetters = (text: string): string =>
  limitMarks(text)
    .normalize('NFKC')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC')
    .replace(/i\u0307+/g, 'i')
    .replaceAll('ς', 'σ');
