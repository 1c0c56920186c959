import test from 'ava';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { stemOf } from './stems.ts';

/** The words of a text as SQLite's full-text index keeps them. */
function sqliteStems(texts: readonly string[]): string[][] {
  const db = new DatabaseSync(':memory:');
  db.exec("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'porter unicode61 remove_diacritics 2')");
  db.exec("CREATE VIRTUAL TABLE v USING fts5vocab (t, 'instance')");
  for (const text of texts) db.prepare('INSERT INTO t VALUES (?)').run(text);
  const rows = db.prepare('SELECT doc, term FROM v ORDER BY doc, offset').all();
  db.close();
  return texts.map((_, place) =>
    rows.filter((row) => Number(row['doc']) === place + 1).map((row) => String(row['term'])),
  );
}

const word = fc
  .tuple(
    fc.stringMatching(/^[abcdeghilmnoprstuvwxyz]{1,7}$/),
    fc.constantFrom(
      ...(
        ' s es ies sses ed ing eed ational tional enci izer bli alli entli eli ousli ization ation ator alism iveness fulness ' +
        'ousness aliti iviti biliti logi icate ative alize iciti ical ful ness ment ement ent ion sion ou ism ate iti ous ive ize ' +
        'able ible ance ence er ic al ant y ly ll e tte'
      ).split(' '),
    ),
  )
  .map((parts) => parts.join(''));

test('words have the stems that SQLite gives them', (t) => {
  const words = fc.sample(word, { numRuns: 5000, seed: 1 });
  const [expected = []] = sqliteStems([words.join(' ')]);
  const differing = words.flatMap((each, place) => {
    const stem = stemOf(each);
    return stem === expected[place] ? [] : [`${each}: ${stem}, not ${String(expected[place])}`];
  });
  t.deepEqual(differing, []);
});
