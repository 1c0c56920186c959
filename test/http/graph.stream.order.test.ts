import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openStandalone } from '@agent-workflow/standalone/standalone';
import test from 'ava';
import { createClient, readChunks, user, type Chunk, type Client } from '../servers/client.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import { checkStream, checkThread, closingsOf, openCallsIn, publishedIn, type StoredMessage } from '../stream-order.ts';
import { serve } from './service.ts';
import { embeddedOnly } from './shape.ts';

const exportOf = (file: string, name: string): string => agentAt(file).replace(/:graph$/, `:${name}`);
const generated = Array.from({ length: 16 }, (_, index) => `g${index}`);
const ofLangGraph = ['nested', 'twice'];
const agents = {
  agents: {
    ...Object.fromEntries(generated.map((name) => [name, exportOf('generated', name)])),
    ...Object.fromEntries(ofLangGraph.map((name) => [name, exportOf('lang-graph-agents', name)])),
  },
  default_agent: 'g0',
};
const service = serve(test, null, {}, agents);

interface End {
  readonly meta: {
    readonly run_id: string;
    readonly status: string;
    readonly interrupts?: readonly { readonly id: string }[];
  };
}

type Run = readonly Chunk[];

const endOf = (run: Run): End['meta'] => (run.at(-1)?.data as unknown as End).meta;

const threadOf = async ({ send }: Pick<Client, 'send'>, id: string): Promise<readonly StoredMessage[]> => {
  const { body } = await send('GET', `/v1/threads/${id}/messages?limit=1000`);
  return (body.data as { readonly messages: readonly StoredMessage[] }).messages;
};

const replayOf = async (url: string, run: Run): Promise<Run> =>
  Array.fromAsync(readChunks(await fetch(`${url}/v1/runs/${endOf(run).run_id}/stream`)));

/** Streams the runs of a new thread until nothing is left to answer. Agent and thread have one name. */
async function streamAll(client: Client, name: string): Promise<readonly Run[]> {
  const runs: Run[] = [];
  const config = { agent: name, thread_id: name };
  let body: object = { messages: [user('go')] };
  for (;;) {
    const run = await Array.fromAsync(client.stream({ ...body, config, response_granularity: 'partial' }));
    runs.push(run);
    const { status, interrupts = [] } = endOf(run);
    if (status !== 'interrupted') return runs;
    const messages = openCallsIn(await threadOf(client, name)).map((id) => ({
      ...{ role: 'tool', content: [{ type: 'tool_result', call_id: id, output: 'came back' }] },
    }));
    const resume = Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']));
    body = { messages, ...(interrupts.length > 0 && { resume }) };
  }
}

const addedIn = (run: Run): readonly StoredMessage[] =>
  run.flatMap(({ event, data }) =>
    event === 'context_chunk' ? (data as { readonly messages: readonly StoredMessage[] }).messages : [],
  );

for (const name of generated)
  test(`the stream, its replay and the thread have one order: generated graph ${name}`, async (t) => {
    const runs = await streamAll(service, name);
    const earlier = new Set<string>();
    for (const run of runs) {
      checkStream(run, earlier);
      for (const id of publishedIn(run)) earlier.add(id);
      t.deepEqual(await replayOf(service.url(), run), run);
      t.deepEqual(addedIn(run), closingsOf(run));
    }
    t.is(endOf(runs.at(-1) ?? []).status, 'completed');
    checkThread(runs.flatMap(closingsOf), await threadOf(service, name));
  });

for (const name of ofLangGraph)
  test(`calls and results of a createReactAgent that is a node are streamed as they are made: ${name}`, async (t) => {
    const [run = []] = await streamAll(service, name);
    checkStream(run);
    const closings = closingsOf(run);
    checkThread(closings, await threadOf(service, name));
    t.deepEqual(await replayOf(service.url(), run), run);
    const first = new Map<unknown, number>();
    for (const [place, { event, metadata }] of run.entries()) {
      const { message_id: id } = metadata;
      if (event === 'messages_chunk' && !first.has(id)) first.set(id, place);
    }
    // Of two branches each has its own order.
    const agents = Array.from({ length: closings.length / 7 }, (_, index) => closings.slice(index * 7, index * 7 + 7));
    t.is(agents.length, name === 'nested' ? 1 : 3);
    for (const made of agents) {
      t.deepEqual(
        made.map(({ role }) => role),
        ['assistant', 'tool', 'assistant', 'tool', 'tool', 'assistant', 'assistant'],
      );
      const places = made.map(({ message_id: id }) => first.get(id) ?? Infinity);
      t.deepEqual(
        places,
        places.toSorted((one, other) => one - other),
      );
    }
  });

embeddedOnly(test, 'a log that is made again from the record has the same order', async (t) => {
  await using workspace = await makeWorkspace(null, agents);
  const open = () => openStandalone({ ...workspace.env, PORT: '0', LOG_LEVEL: 'silent' });
  const before = await open();
  const runs = new Map<string, readonly Run[]>();
  for (const name of [...generated, ...ofLangGraph]) runs.set(name, await streamAll(createClient(before.url), name));
  await before[Symbol.asyncDispose]();
  for (const end of ['', '-shm', '-wal'])
    await rm(join(String(workspace.env['DATA_DIR']), `execution.sqlite${end}`), { force: true });
  await using after = await open();
  const earlier = new Set<string>();
  for (const run of [...runs.values()].flat()) {
    const rebuilt = await replayOf(after.url, run);
    t.like(rebuilt[0]?.data, { rebuilt: true });
    checkStream(rebuilt, earlier);
    for (const id of publishedIn(run)) earlier.add(id);
    t.deepEqual(closingsOf(rebuilt), closingsOf(run));
    t.deepEqual(addedIn(rebuilt), addedIn(run));
  }
});
