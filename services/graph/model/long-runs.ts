/** A run of letters, digits and signs of base64 that is this long is no word, but data. */
const leastRun = 4096;

/**
 * A text without the base64 of media in it, in which no word of a provider is looked for. It is a loop, because a regular expression looks for the end of a run
 * from each of its characters (512 KiB in runs of 4,095 took 3.6 s), and keeps the place of each character of one that is long.
 */
export function withoutLongRuns(text: string): string {
  const kept: string[] = [];
  let [from, runFrom] = [0, 0];
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && isInRun(text.charCodeAt(at))) continue;
    if (at - runFrom >= leastRun) {
      kept.push(text.slice(from, runFrom));
      from = at;
    }
    runFrom = at + 1;
  }
  return kept.length === 0 ? text : kept.join('') + text.slice(from);
}

/** `A` to `Z`, `a` to `z`, `0` to `9`, and `+ - / _`. */
const isInRun = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 47 && code <= 57) ||
  code === 43 ||
  code === 45 ||
  code === 95;
