import { readdir, readFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import test from 'ava';
import { cookbook, cookbookResult, testCookbook } from '../cookbook.ts';
import { byLoad } from '../by-load.ts';

test('every test of the cookbook passes', async (t) => {
  t.timeout(byLoad(120_000));
  t.deepEqual(await testCookbook(cookbook), cookbookResult);
});

test('each of the eleven agents has a test of its name, and the page lists it', async (t) => {
  const agents = (await readdir(join(cookbook, 'agents'))).toSorted();
  t.is(agents.length, 11);
  const tests = (await readdir(join(cookbook, 'tests'))).map((file) => file.replace('.test.', '.'));
  t.deepEqual(tests.toSorted(), agents);
  const page = await readFile(join(cookbook, 'README.md'), 'utf8');
  const listed = [...page.matchAll(/\]\(agents\/([\w.-]+)\)/g)].map(([, file]) => file);
  t.deepEqual(listed.toSorted(), agents);
  t.true(agents.every((file) => page.includes(`tests/${parse(file).name}.test${parse(file).ext}`)));
});

test('an agent with a model and two tools takes 15 lines at most', async (t) => {
  const agent = await readFile(join(cookbook, 'agents', 'react.ts'), 'utf8');
  t.is([...agent.matchAll(/\btool\(\{/g)].length, 2);
  t.true(agent.trimEnd().split('\n').length <= 15);
});
