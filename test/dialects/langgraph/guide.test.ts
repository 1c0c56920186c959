import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { embeddedOnly, isCluster } from '../../http/shape.ts';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
/** A server that is left. Two clusters at once would only take long. */
const old = isCluster ? service : serveLangGraph(test);

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(`${root}/gateway/guide/langgraph.md`, 'utf8');
const modules = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => text);

/** Runs a module of the page against the services of this test. A cluster is in this process, which must not be blocked. */
async function run(text: string): Promise<string> {
  const own = text
    .replaceAll('http://127.0.0.1:8000/langgraph', service.url())
    .replace('https://old.example', old.url())
    .replace("'default'", `'${graphId}'`);
  const options = { cwd: root, timeout: byLoad(60_000) };
  const { stdout, stderr } = await execute(
    process.execPath,
    ['--input-type=module-typescript', '--eval', own],
    options,
  );
  return `${stdout}${stderr}`;
}

test('the first module of the page streams what each node gives', async (t) => {
  t.timeout(byLoad(120_000));
  const [first = ''] = modules;
  t.regex(await run(first), /^metadata .*^updates \{ think: .*^updates \{ gate: /ms);
});

embeddedOnly(
  test,
  'the last module of the page copies the threads of another server, and does so again without harm',
  async (t) => {
    t.timeout(byLoad(180_000));
    const from = old.client();
    const seen = await from.threads.create({ graphId, metadata: { team: 'blue' } });
    const input = { messages: [{ role: 'user', content: 'hello' }] };
    await from.runs.wait(seen.thread_id, graphId, { input });
    const lost = await from.threads.create({ graphId });
    // Together more than a request may have. A page of threads ends behind one so large.
    const large = { messages: [{ role: 'user', content: 'x'.repeat(1_500_000) }] };
    for (let count = 0; count < 3; count += 1) await from.threads.updateState(lost.thread_id, { values: large });
    const empty = await from.threads.create();
    const copy = modules.at(-1) ?? '';
    t.true((await run(copy)).startsWith(`${lost.thread_id} is not copied: `));
    await run(copy);
    const to = service.client();
    const { metadata, values } = await to.threads.get(seen.thread_id);
    t.like(metadata, { team: 'blue', graph_id: graphId });
    t.deepEqual(values, (await from.threads.get(seen.thread_id)).values);
    t.deepEqual((await to.threads.getState(empty.thread_id)).next, []);
  },
);
