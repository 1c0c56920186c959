import test from 'ava';
import fc from 'fast-check';
import { createPattern } from './pattern.ts';

const free = (): void => undefined;
const matches = (source: string, text: string): boolean => createPattern(source).test(text, free);

const part = fc.constantFrom(
  ...['a', 'b', '[ab]', '[^a]', '.', '\\d', '\\w', '\\b', '^', '$', '(?=a)', '(?!b)', '(?<=a)', '(?<!b)', 'é'],
);
const times = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{0,2}', '{1,}', '*?');
const { expression } = fc.letrec<{ readonly expression: string; readonly one: string }>((tie) => ({
  one: fc.oneof(
    { depthSize: 'small' },
    part,
    tie('expression').map((inner) => `(${inner})`),
    tie('expression').map((inner) => `(?:${inner})`),
  ),
  expression: fc
    .array(fc.tuple(tie('one'), times), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.map(([one, count]) => (/^(?:\\b|[$^]|\(\?[=!<])/.test(one) ? one : one + count)).join(''))
    .chain((row) =>
      fc.oneof(
        fc.constant(row),
        tie('one').map((other) => `${row}|${other}`),
      ),
    ),
}));

test('an expression of ECMAScript matches the same texts as there', (t) => {
  const texts = fc
    .array(fc.constantFrom('a', 'b', '1', ' ', 'é', '😀', '\n'), { maxLength: 6 })
    .map((parts) => parts.join(''));
  const property = fc.property(expression, texts, (source, text) => {
    t.is(matches(source, text), new RegExp(source, 'u').test(text), JSON.stringify({ source, text }));
  });
  fc.assert(property, { numRuns: 3000 });
});

const dialects: readonly (readonly [source: string, taken: string, refused: string])[] = [
  ['^https\\:\\/\\/', 'https://a', 'http://a'],
  ['\\Aab\\z', 'ab', 'ab\n'],
  ['^ab\\Z', 'ab\n', 'ab\n\n'],
  ['(?i)^abc$', 'AbC', 'abd'],
  ['^(?i:a)b$', 'Ab', 'AB'],
  ['^a++b$', 'aab', 'b'],
  ['^(?>a|ab)c$', 'ac', 'c'],
  ['^(?P<year>\\d{4})$', '2026', '26'],
  ['^[[:alpha:]_]+$', 'a_b', '1'],
  ['^\\pL+$', 'é', '1'],
  ['^\\p{IsAlphabetic}+$', 'é', '1'],
  ['^\\p{Alpha}+$', 'a', 'é'],
  ['^\\-\\@\\_\\"$', '-@_"', 'a'],
  ['^a{,3}$', 'aaa', 'aaaa'],
  ['^{a}$', '{a}', 'a'],
  ['^a(?#a comment)b$', 'ab', 'a'],
  ['^\\Qa.b\\E$', 'a.b', 'aab'],
  ['^(?s).$', '\n', ''],
  ['^\\h$', '\t', '\n'],
  ['^\\x{1F600}\\u{1F600}\\uD83D\\uDE00$', '😀😀😀', '😀'],
];

for (const [source, taken, refused] of dialects) {
  test(`an expression of another engine is read: ${source}`, (t) => {
    t.true(matches(source, taken));
    t.false(matches(source, refused));
  });
}

const unread: readonly (readonly [source: string, why: RegExp])[] = [
  ['^(a)\\1$', /refers to what a group matched \(\\1\)/],
  ['(', /a group is not closed/],
  ['a)', /a \) closes no group/],
  ['[a', /a \[ is not closed/],
  ['*a', /a \* repeats nothing/],
  ['[b-a]', /ends before it begins/],
  ['\\', /ends with a backslash/],
  ['a{3,2}', /repeats from 3 to 2 times/],
  ['((a{1,300}){1,300}){1,300}', /more than 20000 states/],
  ['\\p{Klingon}', /a set of characters that is not known/],
  ['(?(1)a|b)', /a group that begins with/],
  ['('.repeat(300) + ')'.repeat(300), /more than 200 groups in each other/],
];

for (const [source, why] of unread) {
  test(`an expression that cannot be used says why: ${source.slice(0, 30)}`, (t) => {
    t.throws(() => createPattern(source), { message: why });
  });
}

test('the steps of an expression grow with the text alone', (t) => {
  const steps = (source: string, text: string): number => {
    let all = 0;
    createPattern(source).test(text, (spent) => (all += spent));
    return all;
  };
  for (const source of ['^(a+)+$', '^(a|a)*$', '(a*)*b', '^(a|aa)+$', '(.*a){12}$', '^(\\w+\\s?)*$', '(?=(a+)+$)b']) {
    const [short, long] = [steps(source, `${'a'.repeat(200)}!`), steps(source, `${'a'.repeat(2000)}!`)];
    const isAhead = source.startsWith('(?=');
    t.true(long < short * (isAhead ? 150 : 15), `${source}: ${String(short)}, ${String(long)}`);
  }
});
