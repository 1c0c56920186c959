import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';

test('a process killed in the middle of a run keeps what was committed, and the thread can be used', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  const killed = await startStandalone(workspace.env);
  const invoke = createClient(killed.url).send('POST', '/v1/graph/invoke', {
    messages: [user('go')],
    config: { thread_id: 'held', gate: gate.url },
  });
  const refused = t.throwsAsync(invoke, undefined, 'the connection dies with the process');
  await gate.visited(1);
  await killed.stop('SIGKILL');
  await refused;

  await using again = await startStandalone(workspace.env);
  const { send } = createClient(again.url);
  const texts = async (): Promise<string[]> => {
    const { body } = await send('GET', '/v1/threads/held/messages');
    const { messages } = body.data as { messages: { content: { text: string }[] }[] };
    return messages.map(({ content }) => content.map(({ text }) => text).join(''));
  };
  t.deepEqual(await texts(), ['go', 'before the gate']);
  const state = (await send('GET', '/v1/threads/held/state')).body.data as { state: { steps: number } };
  t.is(state.state.steps, 1);

  gate.open();
  const next = await send('POST', '/v1/graph/invoke', {
    messages: [user('again')],
    config: { thread_id: 'held', gate: gate.url },
  });
  t.is(next.status, 200);
  t.deepEqual(await texts(), ['go', 'before the gate', 'again', 'before the gate', 'after the gate']);
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
  async function untilNewestRun({ send: ask }: typeof client, count: number): Promise<void> {
    while (seen.size < count) {
      const { status, body } = await ask('GET', '/v1/threads/queued');
      if (status === 200) seen.add((body.data as { run_id: string }).run_id);
    }
  }
});
