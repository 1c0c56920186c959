import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { graphId, serveLangGraph } from './service.ts';

const old = serveLangGraph(test);
const service = serveLangGraph(test);

const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(`${root}/gateway/guide/langgraph.md`, 'utf8');
const modules = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => text);

/** Runs a module of the page against the services of this test. */
function run(text: string): string {
  const own = text
    .replaceAll('http://127.0.0.1:8000/langgraph', service.url())
    .replace('https://old.example', old.url())
    .replace("'default'", `'${graphId}'`);
  const options = { cwd: root, encoding: 'utf8', timeout: byLoad(60_000) } as const;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module-typescript', '--eval', own],
    options,
  );
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

test('the first module of the page streams what each node gives', (t) => {
  t.timeout(byLoad(120_000));
  const [first = ''] = modules;
  t.regex(run(first), /^metadata .*^updates \{ think: .*^updates \{ gate: /ms);
});

test('the last module of the page copies the threads of another server, and does so again without harm', async (t) => {
  t.timeout(byLoad(180_000));
  const from = old.client();
  const seen = await from.threads.create({ graphId, metadata: { team: 'blue' } });
  const input = { messages: [{ role: 'user', content: 'hello' }] };
  await from.runs.wait(seen.thread_id, graphId, { input });
  const empty = await from.threads.create();
  const copy = modules.at(-1) ?? '';
  run(copy);
  run(copy);
  const to = service.client();
  const { metadata, values } = await to.threads.get(seen.thread_id);
  t.like(metadata, { team: 'blue', graph_id: graphId });
  t.deepEqual(values, (await from.threads.get(seen.thread_id)).values);
  t.deepEqual((await to.threads.getState(empty.thread_id)).next, []);
});
