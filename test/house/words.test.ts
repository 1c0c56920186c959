import test from 'ava';
import { allHits, namesIn, proseIn } from './glossary.ts';
import { grown, perFile, readLeft, stale } from './shrinking.ts';

test('a replaced word in a name is found, and a name of the protos is let be', (t) => {
  const names = (text: string): string[] => namesIn('gateway/app.ts', text).map(({ found }) => found);
  t.deepEqual(names('export function tellStep(onPiece: () => void) {}'), ['tellStep', 'onPiece']);
  t.deepEqual(names('const patienceMs = 5; interface Asker { heard: boolean }'), ['patienceMs', 'Asker', 'heard']);
  t.deepEqual(names('const { told: published } = events; const rowsAtOnce = 5;'), []);
  t.deepEqual(names(`import { once } from 'node:events'; const call = { onceKey: 'k' };`), []);
  t.deepEqual(
    namesIn('services/execution/hot-threads.test.ts', '').map(({ found }) => found),
    ['hot-threads'],
  );
});

test('a replaced word is found in a comment and on a page, and ordinary English is not', (t) => {
  const lines = (file: string, text: string): number[] => proseIn(file, text).map(({ line }) => line);
  t.deepEqual(lines('gateway/app.ts', '/**\n * Whoever waits\n * is told.\n */\nconst a = 1; // no leash'), [2, 3, 5]);
  t.deepEqual(lines('gateway/README.md', 'It is published.\nNobody hears of it.'), [2]);
  t.deepEqual(lines('protos/threads.proto', 'rpc Tell() // What is told.\n'), [1]);
  t.deepEqual(lines('gateway/app.ts', `const told = 'told'; // The message says why, once.`), []);
});

test('no file has more replaced words than it had', (t) => {
  t.deepEqual(grown({ 'test/a.ts': 2 }, { 'test/a.ts': 1, 'test/b.ts': 1 }), ['test/a.ts']);
  t.deepEqual(grown({ 'test/a.ts': 1, 'test/new.ts': 1 }, { 'test/a.ts': 1 }), ['test']);
  t.deepEqual(grown({ 'test/moved.ts': 1 }, { 'test/a.ts': 1 }), []);
  const { words } = readLeft();
  const now = perFile(allHits());
  t.deepEqual(grown(now, words), []);
  t.log(`${sum(now)} in ${Object.keys(now).length} files`);
  if (stale(now, words).length > 0) t.log(`fewer than allowed: ${stale(now, words).join(', ')}`);
});

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((one, other) => one + other, 0);
}
