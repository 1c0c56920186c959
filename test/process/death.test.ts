import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { until } from '../until.ts';

interface Published {
  readonly messages: readonly { readonly role: string; readonly content: readonly { readonly text: string }[] }[];
}

const textsOf = async ({ send }: Client, thread: string): Promise<string[]> => {
  const { messages } = (await send('GET', `/v1/threads/${thread}/messages`)).body.data as Published;
  return messages.map(({ content }) => content.map(({ text }) => text).join(''));
};

test('a run whose process was killed goes on after its last commit, and the thread can be used', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  const killed = await startStandalone(workspace.env);
  const config = { thread_id: 'held', gate: gate.url };
  const accepted = await createClient(killed.url).send('POST', '/v1/runs', { messages: [user('go')], config });
  const { run_id: runId } = accepted.body.data as { run_id: string };
  await gate.visited(1);
  await killed.stop('SIGKILL');

  await using again = await startStandalone(workspace.env);
  const client = createClient(again.url);
  await gate.visited(2);
  t.deepEqual(await textsOf(client, 'held'), ['go', 'before the gate']);
  gate.open();
  const result = (await client.send('GET', `/v1/runs/${runId}/wait`)).body.data as { meta: { status: string } };
  t.is(result.meta.status, 'completed');
  t.deepEqual(await textsOf(client, 'held'), ['go', 'before the gate', 'after the gate']);
  const state = (await client.send('GET', '/v1/threads/held/state')).body.data as { state: { steps: number } };
  t.is(state.state.steps, 2);

  t.is((await client.send('POST', '/v1/graph/invoke', { messages: [user('again')], config })).status, 200);
  t.is((await textsOf(client, 'held')).length, 6);
});

test('a stream cut by the death of the process is gone on with from its last event, as if it had not been', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  const killed = await startStandalone(workspace.env);
  const seen: string[] = [];
  const cut = (async () => {
    for await (const { id } of createClient(killed.url).stream({ messages: [user('go')], config: { gate: gate.url } }))
      seen.push(id);
  })();
  await gate.visited(1);
  await killed.stop('SIGKILL');
  await t.throwsAsync(cut);
  const last = seen.at(-1) ?? '';
  const [runId = ''] = last.split(':');

  gate.open();
  await using again = await startStandalone(workspace.env);
  const follow = async (headers: Record<string, string>): Promise<string> =>
    (await fetch(`${again.url}/v1/runs/${runId}/stream`, { headers })).text();
  const rest = await follow({ 'last-event-id': last });
  const whole = await follow({});
  t.true(whole.endsWith(rest));
  const ids = [...whole.matchAll(/^id: (.*)$/gm)].map(([, id]) => id);
  t.deepEqual(
    ids,
    ids.map((_, index) => `${runId}:${String(index + 1)}`),
  );
  t.deepEqual(ids.slice(0, seen.length), seen);
  t.regex(rest, /event: on_chain_end\n/);
});

test('runs that waited when the process died are run by the next one, in their order', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  const killed = await startStandalone(workspace.env);
  const client = createClient(killed.url);
  const seen = new Set<string>();
  const config = { thread_id: 'queued', gate: gate.url };
  const lost: Promise<unknown>[] = [];
  for (const text of ['one', 'two', 'three']) {
    lost.push(client.send('POST', '/v1/graph/invoke', { messages: [user(text)], config }));
    // The next is sent when this one is on record, so that their order is known.
    await untilNewestRun(client, lost.length);
  }
  await gate.visited(1);
  await killed.stop('SIGKILL');
  await Promise.allSettled(lost);

  gate.open();
  await using again = await startStandalone(workspace.env);
  const { send } = createClient(again.url);
  const last = await send('POST', '/v1/graph/invoke', { messages: [user('four')], config });
  t.is(last.status, 200);
  const { messages } = (await send('GET', '/v1/threads/queued/messages')).body.data as {
    messages: { role: string; content: { text: string }[] }[];
  };
  t.deepEqual(
    messages.filter(({ role }) => role === 'user').map(({ content }) => content[0]?.text),
    ['one', 'two', 'three', 'four'],
  );

  /** Resolves when so many different runs have been the thread's newest. */
  async function untilNewestRun({ send: sendTo }: typeof client, count: number): Promise<void> {
    while (seen.size < count) {
      const { status, body } = await sendTo('GET', '/v1/threads/queued');
      if (status === 200) seen.add((body.data as { run_id: string }).run_id);
    }
  }
});

test('a process keeps compiled code for its successor while it runs, and not only when it ends', async (t) => {
  const cache = await mkdtemp(join(tmpdir(), 'agent-workflow-compiled-'));
  t.teardown(() => rm(cache, { recursive: true, force: true }));
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone({ ...workspace.env, NODE_COMPILE_CACHE: cache });
  const kept = async (): Promise<readonly string[]> =>
    (await readdir(cache, { recursive: true, withFileTypes: true }))
      .filter((each) => each.isFile())
      .map(({ name }) => name);
  await until(async () => (await kept()).length > 100, { timeoutMs: 20_000 });
  t.is(service.child.exitCode, null);
});
