/** Unicode's limit for stream-safe text (UAX #15) is 30: no language needs so many marks on one letter. */
const longRun = /(\p{M}{30})\p{M}+/gu;

/**
 * Drops the marks beyond the 30th that follow one another. Normalising sorts each run of marks in a time that grows with
 * the square of its length: 100 KB of marks would hold the process up for 20 seconds.
 */
export const limitMarks = (text: string): string => text.replace(longRun, '$1');
