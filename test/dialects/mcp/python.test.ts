import { fileURLToPath } from 'node:url';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { pythonWith, runPrinting } from '../../servers/python.ts';
import { serveMcp } from './service.ts';

const { url } = serveMcp(test);
const script = fileURLToPath(new URL('python/drive.py', import.meta.url));

test('the Python client of MCP finds what it expects, with a handshake and without', async (t) => {
  t.timeout(byLoad(300_000));
  const programs = await pythonWith('mcp==2.3.0');
  t.truthy(programs, 'this takes Python 3 and a package index');
  const { code, text } = await runPrinting(`${programs ?? ''}/python`, [script, `${url()}/mcp`]);
  t.is(code, 0);
  t.log(`${String((JSON.parse(text) as readonly string[]).length)} checks`);
});
