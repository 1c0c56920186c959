import test from 'ava';
import { findEntries, soughtIn, distinguished, type Entry } from './find-entries.ts';

const entry = (kind: string, text: string): Entry => ({ kind, text, run: () => undefined });
const entries = [entry('Go to', 'Runs'), entry('Thread', 'Which runs failed?'), entry('Do', 'New chat')];
const textsOf = (text: string, max?: number): string[] => findEntries(entries, text, max).map((each) => each.text);

test('an entry is found by words of its text and its kind, in any order and case', (t) => {
  t.deepEqual(textsOf('FAILED which'), ['Which runs failed?']);
  t.deepEqual(textsOf('thread runs'), ['Which runs failed?']);
  t.deepEqual(textsOf('nothing like it'), []);
});

test('what begins with the text comes first, and no text finds all, up to the bound', (t) => {
  t.deepEqual(textsOf('runs'), ['Runs', 'Which runs failed?']);
  t.is(textsOf('').length, 3);
  t.is(textsOf('', 2).length, 2);
});

test('the service is asked for the longest word that is not of a kind', (t) => {
  t.is(soughtIn('Lovelace'), 'lovelace');
  t.is(soughtIn('run completed 60 kettles'), 'kettles');
  t.is(soughtIn('failed'), 'failed');
  t.is(soughtIn(' a '), '');
  t.is(soughtIn('run failed'), '');
  t.is(soughtIn('x'.repeat(1e6)).length, 100);
});

test('entries that say the same have the end of their id, and no others', (t) => {
  const run = (id: string, facts: string): Entry => ({ ...entry('Run, completed', 'Refund'), id, facts });
  const shown = distinguished([run('0000aaaaaa', 'now'), run('0000bbbbbb', 'now'), run('0000cccccc', '4 min ago')]);
  t.deepEqual(
    shown.map(({ facts }) => facts),
    ['now, aaaaaa', 'now, bbbbbb', '4 min ago'],
  );
  t.is(distinguished(entries)[0], entries[0]);
});
