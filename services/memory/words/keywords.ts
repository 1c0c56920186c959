/**
 * The words of a question without the English words of its grammar, which say nothing about its subject. A text of such words alone
 * is returned as it is.
 */
export function keywordsOf(text: string): string {
  const words = text.match(/[\p{L}\p{N}\p{M}\p{Co}']+/gu) ?? [];
  const keywords = words.filter((word) => !grammar.has(word.toLowerCase()));
  return keywords.length > 0 ? keywords.join(' ') : text;
}

const grammar = new Set(
  (
    'a an the this that these those some any each every no not and or but nor so if then than as at by for from in into of off ' +
    'on onto out over to up with about after before i me my mine we us our ours you your yours he him his she her hers it its ' +
    'they them their theirs who whom whose which what when where why how there here is am are was were be been being do does ' +
    "did done has have had having can could may might must shall should will would it's i'm don't doesn't didn't"
  ).split(' '),
);
