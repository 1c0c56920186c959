/** Whether a set holds a character, by its number. */
export type Has = (code: number) => boolean;

const range =
  (low: string, high: string): Has =>
  (code) =>
    code >= (low.codePointAt(0) as number) && code <= (high.codePointAt(0) as number);
const either =
  (...sets: readonly Has[]): Has =>
  (code) =>
    sets.some((has) => has(code));
const not =
  (has: Has): Has =>
  (code) =>
    !has(code);
/** Those of which an expression of one character is true. */
const matching =
  (one: RegExp): Has =>
  (code) =>
    one.test(String.fromCodePoint(code));

const [digit, lower, upper] = [range('0', '9'), range('a', 'z'), range('A', 'Z')];
const letter = either(lower, upper);
export const isWord: Has = either(letter, digit, range('_', '_'));
const space = matching(/^\s$/u);
const flat: Has = (code) => code === 9 || code === 32;
const any: Has = () => true;

/** Letters behind a backslash that stand for a set; `\h`, `\R` and `\N` are of other engines. */
export const shorthands: Readonly<Record<string, Has>> = {
  d: digit,
  D: not(digit),
  w: isWord,
  W: not(isWord),
  s: space,
  S: not(space),
  h: flat,
  H: not(flat),
  R: either(range('\n', '\r'), range('\u2028', '\u2029')),
  N: not(range('\n', '\n')),
};

const [L, Lu, Ll, M, N, Nd] = [/^\p{L}$/u, /^\p{Lu}$/u, /^\p{Ll}$/u, /^\p{M}$/u, /^\p{N}$/u, /^\p{Nd}$/u].map(
  matching,
) as [Has, Has, Has, Has, Has, Has];
const [P, S, Z, C] = [/^\p{P}$/u, /^\p{S}$/u, /^\p{Z}$/u, /^\p{C}$/u].map(matching) as [Has, Has, Has, Has];
const control = matching(/^\p{Cc}$/u);
const space1 = matching(/^\p{Zs}$/u);
const hex = either(digit, range('a', 'f'), range('A', 'F'));
const punctuation = either(range('!', '/'), range(':', '@'), range('[', '`'), range('{', '~'));

/** By the names of all engines, without case, blanks, and the words that only say what kind of name it is. */
const properties: Readonly<Record<string, Has>> = {
  ...{ any, ascii: (code: number) => code < 128, assigned: not(matching(/^\p{Cn}$/u)) },
  ...{ l: L, letter: L, alphabetic: matching(/^\p{Alphabetic}$/u), lu: Lu, uppercaseletter: Lu, ll: Ll },
  ...{ lowercaseletter: Ll, uppercase: matching(/^\p{Uppercase}$/u), lowercase: matching(/^\p{Lowercase}$/u) },
  ...{ lt: matching(/^\p{Lt}$/u), lm: matching(/^\p{Lm}$/u), lo: matching(/^\p{Lo}$/u) },
  ...{ m: M, mark: M, mn: matching(/^\p{Mn}$/u), mc: matching(/^\p{Mc}$/u), me: matching(/^\p{Me}$/u) },
  ...{ n: N, number: N, nd: Nd, decimalnumber: Nd, nl: matching(/^\p{Nl}$/u), no: matching(/^\p{No}$/u) },
  ...{ p: P, punctuation: P, pd: matching(/^\p{Pd}$/u), ps: matching(/^\p{Ps}$/u), pe: matching(/^\p{Pe}$/u) },
  ...{ pc: matching(/^\p{Pc}$/u), po: matching(/^\p{Po}$/u), pi: matching(/^\p{Pi}$/u), pf: matching(/^\p{Pf}$/u) },
  ...{ s: S, symbol: S, sm: matching(/^\p{Sm}$/u), sc: matching(/^\p{Sc}$/u), sk: matching(/^\p{Sk}$/u) },
  ...{ so: matching(/^\p{So}$/u), z: Z, separator: Z, zs: space1, spaceseparator: space1 },
  ...{ zl: matching(/^\p{Zl}$/u), zp: matching(/^\p{Zp}$/u), whitespace: matching(/^\p{White_Space}$/u) },
  ...{ c: C, other: C, cc: control, control, cf: matching(/^\p{Cf}$/u), format: matching(/^\p{Cf}$/u) },
  ...{ cn: matching(/^\p{Cn}$/u), co: matching(/^\p{Co}$/u), cs: matching(/^\p{Cs}$/u) },
  ...{ emoji: matching(/^\p{Emoji}$/u), emojipresentation: matching(/^\p{Emoji_Presentation}$/u) },
  ...{ emojicomponent: matching(/^\p{Emoji_Component}$/u), emojimodifier: matching(/^\p{Emoji_Modifier}$/u) },
  ...{ extendedpictographic: matching(/^\p{Extended_Pictographic}$/u) },
  ...{ idstart: matching(/^\p{ID_Start}$/u), idcontinue: matching(/^\p{ID_Continue}$/u), hexdigit: hex },
  ...{ xidstart: matching(/^\p{XIDS}$/u), xidcontinue: matching(/^\p{XIDC}$/u) },
  ...{ latin: matching(/^\p{Script=Latin}$/u), greek: matching(/^\p{Script=Greek}$/u) },
  ...{ cyrillic: matching(/^\p{Script=Cyrillic}$/u), han: matching(/^\p{Script=Han}$/u) },
  ...{ hiragana: matching(/^\p{Script=Hiragana}$/u), katakana: matching(/^\p{Script=Katakana}$/u) },
  ...{ hangul: matching(/^\p{Script=Hangul}$/u), arabic: matching(/^\p{Script=Arabic}$/u) },
  ...{ hebrew: matching(/^\p{Script=Hebrew}$/u), thai: matching(/^\p{Script=Thai}$/u) },
  ...{ devanagari: matching(/^\p{Script=Devanagari}$/u), bengali: matching(/^\p{Script=Bengali}$/u) },
  ...{ common: matching(/^\p{Script=Common}$/u), inherited: matching(/^\p{Script=Inherited}$/u) },
  // POSIX: in brackets, and in Java as \p{Alpha}.
  ...{ alpha: letter, digit, alnum: either(letter, digit), upper, lower, punct: punctuation, word: isWord },
  ...{ space, blank: flat, cntrl: (code: number) => code < 32 || code === 127, xdigit: hex },
  ...{ graph: range('!', '~'), print: range(' ', '~') },
};

/** The set of a property of Unicode or of a class of POSIX. @throws Error naming one that is not known. */
export function propertyNamed(written: string): Has {
  const name = written
    .replace(/^(?:posix:|general_category=|gc=|script=|sc=|script_extensions=|scx=|is)/i, '')
    .replaceAll(/[ _-]/g, '')
    .toLowerCase();
  const has = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (!has) throw new Error(`it has a set of characters that is not known: \\p{${written.slice(0, 40)}}`);
  return has;
}
