import { analyse } from 'scslre';
import test from 'ava';
import { attacksOn } from './attacks.ts';
import { readProduct, readSource, type Literal } from './literals.ts';

const { literals, made } = readProduct();

/** Why a regular expression may take longer than its input is long; `undefined` when nothing says so. */
function faultOf({ source, flags }: Literal): string | undefined {
  const regex = new RegExp(source, flags);
  const { reports } = analyse(regex, { reportTypes: { Move: true, Self: true, Trade: true } });
  const [report] = reports;
  if (report) return `repeats ${JSON.stringify(report.character.pick)} in more than linear time`;
  const attacks = attacksOn(regex);
  // The least first: what grows exponentially would not come back from the rest.
  for (const length of [24, 300, 3000, 24_000]) {
    const slow = attacks(length).find((text) => isSlow(regex, text));
    if (slow !== undefined)
      return `takes more than ${String(timeoutMs)} ms for ${String(length)} characters as ${JSON.stringify(slow.slice(0, 40))}`;
  }
  return undefined;
}

/** A linear one takes some 4 ms for 24,000 characters, one that grows with the square of them 150 ms and more, also on a fast machine. */
const timeoutMs = 40;
const runs = 4;

/** Slow each time: a busy machine makes a run longer, never shorter. */
function isSlow(regex: RegExp, text: string): boolean {
  for (let run = 0; run < runs; run += 1) {
    const start = performance.now();
    text.replace(regex, '');
    if (performance.now() - start < timeoutMs) return false;
  }
  return true;
}

test('every regular expression of the product is linear in its input', (t) => {
  t.true(literals.length > 80);
  const faults = literals.flatMap((literal) => {
    const fault = faultOf(literal);
    return fault === undefined ? [] : [`${literal.file}: /${literal.source}/${literal.flags} ${fault}`];
  });
  t.deepEqual(faults, []);
  t.log(`${String(literals.length)} regular expressions`);
});

test('none is made of what is only known at run time: nothing could check it', (t) => {
  t.deepEqual(made, []);
});

const slow: readonly RegExp[] = [
  /\s+$/,
  /(a+)+$/,
  /\s*\S+/g,
  /^(\d+|[a-z]|\d)+$/,
  /(?<=\d\s*)x/,
  /\b(?:in|at) (\p{L}[\p{L} -]*?)(?: now)?\W*$/u,
  /"(?:[^"\\]|\\.)*"/gs,
  /^(.*),(.*),(.*)$/,
];

for (const regex of slow) {
  test(`${String(regex)} is found out`, (t) => {
    const { literals: found } = readSource('x.ts', `const pattern = ${String(regex)};`);
    t.deepEqual(found, [{ file: 'x.ts', source: regex.source, flags: regex.flags }]);
    t.truthy(found[0] && faultOf(found[0]));
  });
}

test('a regular expression that is made of a text is seen', (t) => {
  const { literals: found, made: unchecked } = readSource(
    'x.ts',
    'const b = "b+"; new RegExp(`${name}+`); RegExp(name); RegExp("a", "u"); new RegExp(b); text.match(/c/);',
  );
  t.deepEqual(unchecked, ['x.ts: new RegExp(`${name}+`)', 'x.ts: RegExp(name)']);
  t.deepEqual(
    found.map(({ source, flags }) => `/${source}/${flags}`),
    ['/a/u', '/b+/', '/c/'],
  );
});
