import { readdir } from 'node:fs/promises';
import test from 'ava';
import { testedStores } from './list.ts';

test('every adapter of the record is on the list of stores that the contract suites run on', async (t) => {
  const entries = await readdir(new URL('../../../services/threads/adapters', import.meta.url), {
    withFileTypes: true,
  });
  const adapters = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  t.deepEqual(testedStores.map(({ adapter }) => adapter).toSorted(), adapters.toSorted());
});
