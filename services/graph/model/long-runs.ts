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

/** Whether a text holds a run of so many characters that may be base64. */
export function holdsRun(text: string, least: number): boolean {
  let run = 0;
  for (let at = 0; at < text.length && run < least; at += 1) run = isInRun(text.charCodeAt(at)) ? run + 1 : 0;
  return run >= least;
}

const mark = ';base64,';

/** How long the type of media before its data may be. */
const maxType = 128;

/** A text with the media type of each `data:` URL in place of its data, where that has so many characters. */
export function withoutDataUrls(text: string, least: number): string {
  const kept: string[] = [];
  let from = 0;
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) {
    const before = text.slice(Math.max(from, at - maxType), at);
    const start = before.lastIndexOf('data:');
    const [type = ''] = before.slice(start + 'data:'.length).split(';');
    let end = at + mark.length;
    while (end < text.length && isInRun(text.charCodeAt(end))) end += 1;
    if (start < 0 || /[^\w.+/-]/.test(type) || end - at - mark.length < least) continue;
    while (text[end] === '=') end += 1;
    kept.push(text.slice(from, at - before.length + start), `[${type}]`);
    from = end;
    at = end - 1;
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
