import test from 'ava';
import { excerptOf, markedParts, metPlaces, metWords, soughtIn } from './met-words.ts';

const metIn = (text: string, query: string): string[] =>
  metPlaces(text, soughtIn(query)).map(({ from, to }) => text.slice(from, to));

test('words of a query are met in any case, with or without accents, and in their other forms', (t) => {
  t.deepEqual(metIn('The CAFE opens at six; cafés open later', 'when does the café open'), [
    'CAFE',
    'opens',
    'cafés',
    'open',
  ]);
  t.deepEqual(metIn('A refund of €200, refunded twice', 'refunds over 200'), ['refund', '200', 'refunded']);
  t.deepEqual(metIn('A bookshop, a bookkeeper', 'books'), ['bookshop', 'bookkeeper']);
  t.deepEqual(metIn('The cat sat', 'car sun'), []);
});

test('words of grammar are met only where a query has no others', (t) => {
  t.deepEqual(metIn('What is the limit?', 'what is the limit'), ['limit']);
  t.deepEqual(metIn('To be or not', 'to be'), ['To', 'be']);
  t.deepEqual(metIn('anything', ''), []);
});

test('in scripts without spaces groups of letters are met, and those side by side are one place', (t) => {
  t.deepEqual(metIn('港のカフェは六時に開く', 'カフェの時間'), ['カフェ']);
  t.deepEqual(metIn('咖啡馆六点开门', '咖啡馆几点开门'), ['咖啡馆', '点开门']);
  t.deepEqual(metIn('ร้านกาแฟเปิดหกโมง', 'กาแฟ'), ['กาแฟ']);
});

test('each word that is met is named once', (t) => {
  t.deepEqual(metWords('Tea, tea and green tea', soughtIn('green tea')), ['tea', 'green']);
});

test('an excerpt begins at a word a little before the first that is met, and its places are those of the excerpt', (t) => {
  const text = `${'word '.repeat(100)}the harbour opens at six ${'more '.repeat(100)}`;
  const excerpt = excerptOf(text, soughtIn('harbour'), 120);
  t.true(excerpt.text.startsWith('… word'));
  t.true(excerpt.text.endsWith(' …'));
  t.deepEqual(
    excerpt.places.map(({ from, to }) => excerpt.text.slice(from, to)),
    ['harbour'],
  );
  t.deepEqual(excerptOf('short', undefined), { text: 'short', places: [] });
});

test('a text in parts is the whole text, whatever its places', (t) => {
  const text = 'one two three';
  const parts = markedParts(text, metPlaces(text, soughtIn('one three')));
  t.is(parts.map((part) => part.text).join(''), text);
  t.deepEqual(
    parts.map(({ isMet }) => isMet),
    [true, false, true],
  );
});

test('no word and no place is longer than what is laid out in a moment', (t) => {
  const sought = soughtIn('cafe กาแฟ');
  t.deepEqual(metPlaces(`cafe${'\u0301'.repeat(60_000)} cafe`, sought), [{ from: 60_005, to: 60_009 }]);
  const text = 'กาแฟ'.repeat(15_000);
  const places = metPlaces(text, soughtIn('กาแฟกาแฟ'));
  t.is(places.length, 200);
  t.true(places.every(({ from, to }) => to > from && to - from <= 200));
  t.true(places.every(({ from }, at) => from >= (places[at - 1]?.to ?? 0)));
  t.true(metWords(text, sought).every((word) => word.length <= 200));
});

test('a hostile text is looked through in a moment', (t) => {
  const texts = [
    'é'.repeat(32_768),
    'a'.repeat(65_536),
    '字'.repeat(65_536),
    'open '.repeat(13_000),
    '\ufdfa'.repeat(65_536),
    `cafe${'\u0301\u0323'.repeat(30_000)}`,
  ];
  const sought = soughtIn(`open é 字字 ${'abcd'.repeat(1000)}`);
  const start = performance.now();
  for (const text of texts) excerptOf(text, sought);
  for (const text of texts) metPlaces(text, sought);
  t.true(performance.now() - start < 1500);
});
