import test from 'ava';
import { findIn, markedParts, type JsonHits } from './json-search.ts';

function find(text: string, wanted: string): JsonHits {
  const finding = findIn(text, wanted);
  for (;;) {
    const next = finding.next();
    if (next.done) return next.value;
  }
}

test('a text is found whatever its case, also where two parts of a long text meet', (t) => {
  t.deepEqual(find('{"Name":"name"}', 'NAME'), { at: [2, 9], isCut: false });
  const long = `"${'x'.repeat(512 * 1024 - 3)}needle${'x'.repeat(100)}needle"`;
  t.deepEqual(find(long, 'Needle').at, [512 * 1024 - 2, 512 * 1024 + 104]);
});

test('hits do not overlap, also where one goes over the end of a part', (t) => {
  t.deepEqual(find(`${'x'.repeat(512 * 1024 - 1)}aaaax`, 'aa').at, [512 * 1024 - 1, 512 * 1024 + 1]);
});

test('signs of regular expressions and of JSON mean themselves', (t) => {
  t.deepEqual(find('["a.b","axb","(.*)"]', 'a.b').at, [2]);
  t.deepEqual(find('["a.b","axb","(.*)"]', '(.*)').at, [14]);
  t.deepEqual(find(JSON.stringify('say "hi"\n'), '"hi"\n').at, [5]);
  t.deepEqual(find('[1]', '').at, []);
});

test('of many hits the first are counted', (t) => {
  const { at, isCut } = find('a'.repeat(30_000), 'a');
  t.is(at.length, 10_000);
  t.true(isCut);
});

test('what was found is told from the rest', (t) => {
  t.deepEqual(markedParts('a1b1', '1'), [
    { text: 'a', isFound: false },
    { text: '1', isFound: true },
    { text: 'b', isFound: false },
    { text: '1', isFound: true },
  ]);
});
