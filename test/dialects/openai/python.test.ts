import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { pythonWith, runPrinting } from '../../servers/python.ts';
import { serveOpenai } from './service.ts';

const service = serveOpenai(test);
const script = fileURLToPath(new URL('python/drive.py', import.meta.url));

test("OpenAI's Python client finds what it expects, in the types that it has for it", async (t) => {
  t.timeout(byLoad(300_000));
  const programs = await pythonWith('openai==3.57.0');
  t.truthy(programs, 'this takes Python 3 and a package index');
  const { code, text } = await runPrinting(`${programs ?? ''}/python`, [script, `${service.url()}/openai/v1`]);
  t.is(code, 0);
  const passed = String((JSON.parse(text) as readonly string[]).length);
  t.log(`${passed} checks`);
  const page = readFileSync(new URL('../../../gateway/guide/openai.md', import.meta.url), 'utf8');
  t.true(page.includes(`| \`openai\` 3.57.0 for Python | ${passed} of ${passed} |`));
});
