import { fileURLToPath } from 'node:url';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { pythonWith, runPrinting } from '../../servers/python.ts';
import { serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const script = fileURLToPath(new URL('python/drive.py', import.meta.url));

test("LangGraph's Python client finds what it expects, whichever of its methods is called", async (t) => {
  t.timeout(byLoad(300_000));
  const programs = await pythonWith('langgraph-sdk==0.4.14');
  t.truthy(programs, 'this takes Python 3 and a package index');
  const { code, text } = await runPrinting(`${programs ?? ''}/python`, [script, service.url()]);
  t.is(code, 0);
  const { methods, left } = JSON.parse(text) as Readonly<Record<'methods' | 'left', readonly string[]>>;
  t.deepEqual(left, []);
  t.log(`${String(methods.length)} methods`);
});
