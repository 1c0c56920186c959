import test from 'ava';
import { user } from '../servers/client.ts';
import { serve } from './service.ts';

const { send } = serve(test);

const eye = { name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } };
const ear = { ...eye, name: 'listen' };

interface Outcome {
  readonly messages: readonly { readonly content: readonly { readonly type: string; readonly name?: string }[] }[];
  readonly meta: { readonly status: string; readonly resumes?: string; readonly thread_id: string };
}

const invoke = async (body: object): Promise<Outcome> => (await send('POST', '/v1/graph/invoke', body)).body.data;

/** Answers a call; the agent does what `order` says in reply. */
const answer = (callId: string, order = 'thanks'): object => ({
  role: 'tool',
  content: [
    { type: 'text', text: order },
    { type: 'tool_result', call_id: callId, output: 'a cat' },
  ],
});

const asked = ({ meta, messages }: Outcome): unknown => [
  meta.status,
  ...messages.flatMap(({ content }) => content.flatMap(({ type, name }) => (type === 'text' ? [] : [name]))),
];

test('the loop of the contract goes on round after round with the tools of its first request', async (t) => {
  const config = { thread_id: 'loop' };
  let outcome = await invoke({ messages: [user('call look call-1')], tools: [eye], config });
  for (let round = 1; round < 5; round++) {
    t.deepEqual(asked(outcome), ['interrupted', 'look'], `round ${String(round)}`);
    const order = `call look call-${String(round + 1)}`;
    outcome = await invoke({ messages: [answer(`call-${String(round)}`, order)], config });
  }
  t.deepEqual(asked(await invoke({ messages: [answer('call-5')], config })), ['completed']);
  t.deepEqual(
    asked(await invoke({ messages: [user('call look call-6')], config })),
    ['completed'],
    'it waited for nothing',
  );
});

test('a request that declares tools has these and not those of the run that it goes on from', async (t) => {
  const config = { thread_id: 'others' };
  await invoke({ messages: [user('call look')], tools: [eye], config });
  const body = { messages: [answer('call-1', 'call look call-2')], tools: [ear], config };
  t.deepEqual(asked(await invoke(body)), ['completed']);
});

test('an empty list declares none, so that those of the run before stay', async (t) => {
  const config = { thread_id: 'empty' };
  await invoke({ messages: [user('call look')], tools: [eye], config });
  const body = { messages: [answer('call-1', 'call look call-2')], tools: [], config };
  t.deepEqual(asked(await invoke(body)), ['interrupted', 'look']);
});

test('a user message in place of results keeps the tools', async (t) => {
  const config = { thread_id: 'instead' };
  await invoke({ messages: [user('call look')], tools: [eye], config });
  t.deepEqual(asked(await invoke({ messages: [user('call look call-2')], config })), ['interrupted', 'look']);
});

test('a run that nobody waits for keeps them too', async (t) => {
  const config = { thread_id: 'accepted' };
  await invoke({ messages: [user('call look')], tools: [eye], config });
  const accepted = await send('POST', '/v1/runs', { messages: [answer('call-1', 'call look call-2')], config });
  const { run_id: runId } = accepted.body.data as { run_id: string };
  t.deepEqual(asked((await send('GET', `/v1/runs/${runId}/wait`)).body.data as Outcome), ['interrupted', 'look']);
});

test.serial(
  'a run keeps the tools that were set up for the one before, also when another list is set up meanwhile',
  async (t) => {
    const config = { thread_id: 'set-up' };
    await send('POST', '/v1/graph/setup', { tools: [eye] });
    await invoke({ messages: [user('call look')], config });
    await send('POST', '/v1/graph/setup', { tools: [ear] });
    const second = await invoke({ messages: [answer('call-1', 'call look call-2')], config });
    t.deepEqual(asked(second), ['interrupted', 'look']);
    const third = await invoke({ messages: [answer('call-2', 'call listen call-3')], config });
    await send('POST', '/v1/graph/setup', { tools: [] });
    t.deepEqual(asked(third), ['interrupted', 'listen']);
  },
);

test('a fork of a thread that waits goes on with its tools', async (t) => {
  const config = { thread_id: 'forked' };
  await invoke({ messages: [user('call look')], tools: [eye], config });
  const { checkpoints } = (await send('GET', '/v1/threads/forked/checkpoints')).body.data as {
    checkpoints: readonly { checkpoint_id: string }[];
  };
  const fork = await send('POST', '/v1/threads/forked/fork', { checkpoint_id: checkpoints[0]?.checkpoint_id });
  const { thread_id: threadId } = fork.body.data as { thread_id: string };
  const body = { messages: [answer('call-1', 'call look call-2')], config: { thread_id: threadId } };
  t.deepEqual(asked(await invoke(body)), ['interrupted', 'look']);
});

test('tools in config.remote_tools are taken as those in tools, in their form and in that of the APIs of models', async (t) => {
  const asFunction = { type: 'function', function: ear };
  const config = { thread_id: 'from-config', remote_tools: [eye, asFunction] };
  t.deepEqual(asked(await invoke({ messages: [user('call look')], config })), ['interrupted', 'look']);
  const second = await invoke({
    messages: [answer('call-1', 'call listen call-2')],
    config: { thread_id: 'from-config' },
  });
  t.deepEqual(asked(second), ['interrupted', 'listen'], 'the run that goes on keeps them');
  const replaced = { thread_id: 'from-config', remote_tools: [ear] };
  const third = await invoke({ messages: [answer('call-2', 'call look call-3')], config: replaced });
  t.deepEqual(asked(third), ['completed'], 'a list in config replaces them as one in tools does');
});

test('of two tools of one name that in tools counts, and a list that is none is refused by its place', async (t) => {
  const thread = (id: string, more: object) => ({ thread_id: id, ...more });
  const both = { messages: [user('call look')], tools: [eye] };
  const other = { ...eye, node_name: 'nowhere' };
  const config = thread('both', { remote_tools: [other, ear] });
  t.deepEqual(asked(await invoke({ ...both, config })), ['interrupted', 'look']);
  const next = { messages: [answer('call-1', 'call listen call-2')], config: thread('both', {}) };
  t.deepEqual(asked(await invoke(next)), ['interrupted', 'listen']);
  for (const [given, loc] of [
    ['look', ['body', 'config', 'remote_tools']],
    [[{}], ['body', 'config', 'remote_tools', 0, 'name']],
    [
      [eye, { type: 'function', function: { name: 7 } }],
      ['body', 'config', 'remote_tools', 1, 'function', 'name'],
    ],
    [Array.from({ length: 257 }, (_, n) => ({ name: `t${String(n)}` })), ['body', 'config', 'remote_tools']],
    [
      [eye, { type: 'function', function: { ...ear, parameters: { properties: { a: { $ref: '#/gone' } } } } }],
      ['body', 'config', 'remote_tools', 1, 'function', 'parameters'],
    ],
    [
      [eye, { ...ear, node_name: 'nowhere' }],
      ['body', 'config', 'remote_tools', 1, 'node_name'],
    ],
    [
      [ear, ear],
      ['body', 'config', 'remote_tools', 1, 'name'],
    ],
  ] as const) {
    const refused = await send('POST', '/v1/graph/invoke', { ...both, config: thread('no', { remote_tools: given }) });
    t.is(refused.status, 422, JSON.stringify(given).slice(0, 100));
    t.deepEqual((refused.body.error as { details: { loc: unknown }[] }).details[0]?.loc, loc);
  }
  const many = Array.from({ length: 256 }, (_, n) => ({ name: `t${String(n)}` }));
  const body = { ...both, config: thread('many', { remote_tools: many }) };
  t.is((await send('POST', '/v1/graph/invoke', body)).status, 422);
});

interface Refusal {
  readonly error: { readonly details: readonly { readonly loc: readonly unknown[]; readonly msg: string }[] };
}

const unusable: readonly (readonly [what: string, parameters: object, reason: RegExp])[] = [
  [
    'refers to nothing',
    { properties: { a: { $ref: '#/$defs/gone' } } },
    /the reference "#\/\$defs\/gone" leads to nothing/,
  ],
  [
    'has a pattern that is not linear',
    { properties: { a: { pattern: '^(a)\\1$' } } },
    /refers to what a group matched/,
  ],
  ['is larger than 64 KiB', { description: 'x'.repeat(70_000) }, /the schema has \d+ bytes, more than 65536/],
];

for (const [what, parameters, reason] of unusable) {
  test(`a tool whose schema ${what} is refused by the place of its schema`, async (t) => {
    const tools = [eye, { ...ear, parameters }];
    for (const path of ['/v1/graph/invoke', '/v1/graph/stream', '/v1/runs', '/v1/graph/setup']) {
      const { status, body } = await send('POST', path, {
        tools,
        ...(path.endsWith('setup') ? {} : { messages: [user('hello')] }),
      });
      t.is(status, 422, path);
      const [detail] = (body as unknown as Refusal).error.details;
      t.deepEqual(detail?.loc, ['body', 'tools', 1, 'parameters'], path);
      t.regex(detail?.msg ?? '', reason, path);
    }
  });
}

// adk-python#5049.
test('a call that the schema of its tool refuses is answered in place of the caller', async (t) => {
  const parameters = { type: 'object', properties: { exact: { type: 'boolean' } }, required: ['exact'] };
  const { body } = await send('POST', '/v1/graph/invoke', {
    messages: [user('call look')],
    tools: [{ ...eye, parameters }],
  });
  const { meta, all_messages: all } = body.data as Outcome & { readonly all_messages: Outcome['messages'] };
  t.is(meta.status, 'completed');
  const results = all.flatMap(({ content }) => content);
  t.like(
    results.find(({ type }) => type === 'tool_result'),
    { output: "arguments must have required property 'exact'", is_error: true },
  );
});

test('schemas of other versions and dialects are taken', async (t) => {
  const parameters = {
    $schema: 'http://json-schema.org/draft-04/schema#',
    ...{ type: 'object', required: null },
    properties: { a: { type: 'any', nullable: true, minimum: 0, exclusiveMinimum: true, pattern: '^https\\:\\/\\/' } },
  };
  const outcome = await invoke({ messages: [user('call look')], tools: [{ ...eye, parameters }] });
  t.deepEqual(asked(outcome), ['interrupted', 'look']);
});
