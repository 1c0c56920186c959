import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { agentNamePattern } from '@agent-workflow/kit/agents';
import test from 'ava';
import { generatedFiles } from './files.ts';
import { root } from './settings.ts';

test('the settings page and the schemas of the charts are what the code makes of them: `npm run docs` writes them', async (t) => {
  const files = await generatedFiles();
  t.true(files.length >= 7);
  for (const { path, text } of files) t.is(await readFile(join(root, path), 'utf8'), text, path);
});

test('the settings page names each setting once, with the processes that read it', async (t) => {
  const [page] = await generatedFiles();
  const rows = [...(page?.text ?? '').matchAll(/^\| `([A-Z][A-Z0-9_]+)` \| [^|]*\| ([^|]*) \|/gm)];
  const readers = new Map(rows.map(([, name, by]) => [name, by]));
  t.is(readers.size, rows.length);
  t.is(readers.get('LOG_LEVEL'), 'all');
  t.is(readers.get('RUN_CONCURRENCY'), 'execution, standalone');
  t.is(readers.get('THREADS_ADDRESS'), 'gateway, execution');
  t.is(readers.get('CASSANDRA_CONTACT_POINTS'), 'threads');
  t.is(readers.get('MODEL'), 'execution, standalone');
});

test('the charts take the names of agents that the service takes', async (t) => {
  const schemas = (await generatedFiles()).filter(({ path }) => path.endsWith('values.schema.json'));
  t.true(schemas.length >= 6);
  for (const { path, text } of schemas) t.true(text.includes(JSON.stringify(agentNamePattern)), path);
});
