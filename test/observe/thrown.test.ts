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
  t.regex(refusal, /the reducer of field \\"total\\" failed: an unexpected error/);
  t.false(/throwing\.ts|asked too much|gave up/.test(refusal), refusal);
  const begun = await send('POST', '/v1/graph/invoke', {
    messages: [user('hello')],
    initial_state: { total: -1 },
    config: { thread_id: 'initial' },
  });
  t.is(begun.status, 422, JSON.stringify(begun.body));
  t.regex(JSON.stringify(begun.body), /the reducer of field \\"total\\" failed: an unexpected error/);
  t.false(/throwing\.ts|asked too much|gave up/.test(JSON.stringify(begun.body)));
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
  for (const thread of ['tool', 'initial'])
    t.regex(JSON.stringify(lineOf(thread, /^a reducer threw/)?.err), /throwing\.ts/, thread);
});

const unexpected = 'an unexpected error, which is in the log of the service';

/** What callers read of a failed run, by the order that failed it. */
const shown: Readonly<Record<string, readonly [reason: string, text: string]>> = {
  node: ['unexpected', unexpected],
  reach: ['unreachable', 'a server cannot be reached'],
  repeat: ['unreachable', 'a server cannot be reached'],
  several: ['timed_out', 'a server took too long to answer'],
  refuse: ['user_error', 'The order has been sent already.'],
  revoked: ['unexpected', unexpected],
};

/** What a model, and the caller after it, reads of a tool that threw. */
const answered: Readonly<Record<string, string>> = {
  'reach tool': 'a server cannot be reached',
  'refuse tool': 'The order has been sent already.',
  'correct tool': 'give the city in English',
  'revoked tool': 'a value that cannot be shown',
};

test('callers get a reason of a closed list, or what the author states, and one line of the log has node, file and line', async (t) => {
  await using workspace = await makeWorkspace('throwing');
  await using service = await startStandalone(workspace.env);
  const { send } = createClient(service.url);
  for (const [order, [reason, text]] of Object.entries(shown)) {
    const reply = await send('POST', '/v1/graph/invoke', { messages: [user(order)], config: { thread_id: order } });
    const message = `node "obey" failed: ${text}`;
    const loc = ['graph', 'nodes', 'obey'];
    const details = [{ loc, msg: message, type: 'node_error', reason }];
    t.deepEqual(reply.body.error, { code: 'NODE_ERROR', message, details }, order);
    const { body } = await send('GET', `/v1/threads/${order}/runs`);
    const [run] = (body.data as { readonly runs: readonly { readonly error: { readonly thrown?: string } }[] }).runs;
    const { thrown: name, ...error } = run?.error ?? { thrown: undefined };
    t.deepEqual(error, { code: 'NODE_ERROR', message, node: 'obey', reason }, order);
    // Where no reason says more, the class of what was thrown stands beside it.
    if (reason !== 'unexpected') t.is(name, undefined, order);
  }
  for (const [order, output] of Object.entries(answered)) {
    const reply = await send('POST', '/v1/graph/invoke', { messages: [user(order)], config: { thread_id: order } });
    t.true(JSON.stringify(reply.body).includes(`"output":${JSON.stringify(output)}`), JSON.stringify(reply.body));
  }
  t.is(await service.stop('SIGTERM'), 0);

  const lines = service.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line);
  for (const [order, [reason]] of Object.entries(shown)) {
    const own = lines.filter(
      ({ thread_id: id, err, msg }) => id === order && err && !String(msg).startsWith('code of the agent'),
    );
    t.is(own.length, 1, JSON.stringify(own.map(({ msg }) => msg)));
    t.like(own[0], { msg: 'a run failed', node: 'obey', reason }, order);
    if (order !== 'revoked') t.regex(String(own[0]?.['place']), /throwing\.ts:\d+:\d+$/, order);
  }
  for (const order of ['reach', 'reach tool'])
    t.true(
      lines.some(({ thread_id: id, err }) => id === order && JSON.stringify(err).includes('ECONNREFUSED')),
      order,
    );
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
