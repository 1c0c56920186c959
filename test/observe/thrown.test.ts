import test from 'ava';
import { createClient, user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';

type Line = Readonly<Record<string, unknown>> & { readonly err?: object };

test('the log has the stack and the cause of what code of the agent threw; the caller has neither', async (t) => {
  await using workspace = await makeWorkspace('throwing');
  await using service = await startStandalone(workspace.env);
  const { send } = createClient(service.url);
  const thrown: Readonly<Record<string, number>> = { node: 500, tool: 200, reducer: 500, route: 500 };
  for (const [order, status] of Object.entries(thrown)) {
    const reply = await send('POST', '/v1/graph/invoke', { messages: [user(order)], config: { thread_id: order } });
    const shown = JSON.stringify(reply.body);
    t.is(reply.status, status, shown);
    t.false(/throwing\.ts|asked too much|\\n +at /.test(shown), shown);
  }
  const written = await send('POST', '/v1/threads/tool/state', { config: {}, state: { total: -1 } });
  t.is(written.status, 422, JSON.stringify(written.body));
  const refusal = JSON.stringify(written.body);
  t.regex(refusal, /failed: the reducer gave up/);
  t.false(/throwing\.ts|asked too much/.test(refusal), refusal);
  t.is(await service.stop('SIGTERM'), 0);

  const lines = service.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line);
  const lineOf = (thread: string, msg: RegExp) =>
    lines.find(({ thread_id: id, msg: shown }) => id === thread && msg.test(String(shown)));
  for (const [order, msg] of [
    ['node', /^a run failed/],
    ['node', /^code of the agent threw/],
    ['tool', /^code of the agent threw/],
    ['reducer', /^a run failed/],
    ['route', /^a run failed/],
  ] as const) {
    const line = lineOf(order, msg);
    t.truthy(line, `${order}: ${String(msg)}`);
    const logged = JSON.stringify(line?.err);
    t.regex(logged, /at .*throwing\.ts:\d+:\d+/, order);
    t.regex(logged, /RangeError: the \w+ was asked too much/, order);
    t.regex(String(line?.['run_id']), /^[0-9a-f-]{36}$/);
    t.is(line?.['node'], order === 'tool' ? 'tools' : 'obey');
  }
  t.regex(JSON.stringify(lineOf('tool', /^a reducer threw/)?.err), /throwing\.ts/);
});

test('what a node or a tool publishes after it has returned is dropped, and the log warns once of each, without the content', async (t) => {
  await using workspace = await makeWorkspace('throwing');
  await using service = await startStandalone(workspace.env);
  const { send } = createClient(service.url);
  for (const order of ['late', 'late tool']) {
    const reply = await send('POST', '/v1/graph/invoke', { messages: [user(order)], config: { thread_id: order } });
    t.is(reply.status, 200, JSON.stringify(reply.body));
    t.false(JSON.stringify(reply.body).includes('secret'));
  }
  t.is(await service.stop('SIGTERM'), 0);

  const late = service.lines.filter((line) => line.includes('after it had ended'));
  const lines = late.map((own) => JSON.parse(own) as Line);
  const progress = 'called progress() after it had ended, which is dropped: it must await what calls it';
  t.is(lines.length, 3);
  t.like(lines, [
    {
      ...{ level: 40, thread_id: 'late', node: 'obey' },
      msg: 'a node emitted after it had ended, which is dropped: it must await what emits',
    },
    { level: 40, thread_id: 'late', node: 'obey', msg: `a node ${progress}` },
    { level: 40, thread_id: 'late tool', node: 'tools', tool: 'lingering', msg: `a tool ${progress}` },
  ]);
  for (const line of lines) t.regex(String(line['run_id']), /^[0-9a-f-]{36}$/);
  t.false(service.lines.some((own) => own.includes('secret')));
});

for (const order of ['mutate', 'push']) {
  test(`a node that changes the state it was given is named, and told that state is frozen: ${order}`, async (t) => {
    await using workspace = await makeWorkspace('throwing');
    await using service = await startStandalone(workspace.env);
    const { send } = createClient(service.url);
    const { status, body } = await send('POST', '/v1/graph/invoke', { messages: [user(order)] });
    t.is(status, 500);
    t.regex((body.error as { readonly message: string }).message, /^node "obey" .*state and context are frozen/);
  });
}
