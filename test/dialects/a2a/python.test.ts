import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { pythonWith, runPrinting } from '../../servers/python.ts';
import { serveA2a } from './service.ts';

const service = serveA2a(test);
const script = fileURLToPath(new URL('python/drive.py', import.meta.url));

test("A2A's Python client finds what it expects, by both of its bindings", async (t) => {
  t.timeout(byLoad(300_000));
  const programs = await pythonWith('a2a-sdk[http-server]==1.3.0');
  t.truthy(programs, 'this takes Python 3 and a package index');
  const { code, text } = await runPrinting(`${programs ?? ''}/python`, [script, service.url()]);
  t.is(code, 0);
  const passed = String((JSON.parse(text) as readonly string[]).length);
  t.log(`${passed} checks`);
  const page = readFileSync(new URL('../../../gateway/guide/a2a.md', import.meta.url), 'utf8');
  t.true(page.includes(`| \`a2a-sdk\` 1.3.0 for Python, by both bindings | ${passed} of ${passed} |`));
});
