/**
 * The words of a question without those that only hold it together in English: a memory with many of them may be about anything.
 * A text of such words alone stays as it is.
 */
export function tellingWords(text: string): string {
  const words = text.match(/[\p{L}\p{N}\p{M}\p{Co}']+/gu) ?? [];
  const telling = words.filter((word) => !grammar.has(word.toLowerCase()));
  return telling.length > 0 ? telling.join(' ') : text;
}

const grammar = new Set(
  (
    'a an the this that these those some any each every no not and or but nor so if then than as at by for from in into of off ' +
    'on onto out over to up with about after before i me my mine we us our ours you your yours he him his she her hers it its ' +
    'they them their theirs who whom whose which what when where why how there here is am are was were be been being do does ' +
    "did done has have had having can could may might must shall should will would it's i'm don't doesn't didn't"
  ).split(' '),
);
