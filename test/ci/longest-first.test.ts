import { existsSync } from 'node:fs';
import test from 'ava';
import { longest, longestFirst } from './longest-first.ts';

test('the files that take long begin first, and all of them are there', (t) => {
  t.deepEqual(
    longest.filter((file) => !existsSync(file)),
    [],
  );
  const [first = '', second = ''] = longest;
  const paths = ['test/readme.test.ts', second, 'test/chart.test.ts', first].map((file) => `${process.cwd()}/${file}`);
  t.deepEqual(
    paths.toSorted(longestFirst).map((path) => path.slice(process.cwd().length + 1)),
    [first, second, 'test/chart.test.ts', 'test/readme.test.ts'],
  );
});
