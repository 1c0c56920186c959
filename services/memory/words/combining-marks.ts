/** Unicode's limit for stream-safe text (UAX #15) is 30 marks on one letter; no language needs more. */
const longRun = /(\p{M}{30})\p{M}+/gu;

/**
 * Drops the marks after the 30th of each run. Normalising sorts a run of marks in a time that grows with the square of its length:
 * 100 KB of marks block the process for 20 seconds.
 */
export const limitMarks = (text: string): string => text.replace(longRun, '$1');
