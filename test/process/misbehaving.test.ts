import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Chunk, type Client } from '../servers/client.ts';
import { openGate, type Gate } from '../servers/gate.ts';
import { makeWorkspace, startStandalone, type StandaloneProcess } from '../servers/standalone.ts';
import { byLoad } from '../by-load.ts';

interface Ended {
  readonly all_messages: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly state: Readonly<Record<string, unknown>>;
  readonly iterations: number;
  readonly recursion_limit_reached: boolean;
  readonly meta: { readonly status: string };
}

interface Failure {
  readonly code: string;
  readonly message: string;
}

interface Accepted {
  readonly run_id: string;
  readonly thread_id: string;
}

const toInput = (way: string, gate?: Gate, thread?: string): Readonly<Record<string, unknown>> => ({
  messages: [user(way)],
  config: { ...(gate ? { gate: gate.url } : {}), ...(thread === undefined ? {} : { thread_id: thread }) },
  response_granularity: 'full',
});

const accept = async ({ send }: Client, input: Readonly<Record<string, unknown>>): Promise<Accepted> =>
  (await send('POST', '/v1/runs', input)).body.data;

const resultOf = async ({ send }: Client, runId: string): Promise<Ended | undefined> =>
  (await send('GET', `/v1/runs/${runId}/wait`)).body.data;

const textsOf = ({ all_messages: messages }: Ended): string[] =>
  messages.map(({ content }) => content.map(({ text }) => text).join(''));

/** Runs of others: some wait at the gate in their first step or their second, and one behind the first for its thread. */
async function startOthers(client: Client, gate: Gate): Promise<readonly Accepted[]> {
  const runs = [];
  for (const [thread, way] of Object.entries({ first: 'behaves', second: 'waits', third: 'waits' }))
    runs.push(await accept(client, toInput(way, gate, thread)));
  runs.push(await accept(client, toInput('behaves', gate, 'first')));
  await gate.visited(3);
  return runs;
}

/** They end as they would have, whatever happened beside them. */
async function othersEnd(t: ExecutionContext, client: Client, runs: readonly Accepted[]): Promise<void> {
  const ended = await Promise.all(runs.map(async ({ run_id: id }) => resultOf(client, id)));
  t.deepEqual(
    ended.map((end) => end && [end.meta.status, end.state['count'], end.state['note'], textsOf(end)]),
    [
      ['completed', 3, '', ['step 1', 'step 2', 'step 3']],
      ['completed', 0, 'waited', []],
      ['completed', 0, 'waited', []],
      ['completed', 4, '', ['step 4']],
    ],
  );
}

const start = async (env: Readonly<Record<string, string>>): Promise<StandaloneProcess> =>
  startStandalone({ ...env, LOG_LEVEL: 'warn' });

/** Lines of the log at a level, parsed. */
const logged = ({ lines }: Pick<StandaloneProcess, 'lines'>, level: number): Readonly<Record<string, unknown>>[] =>
  lines
    .filter((line) => line.startsWith(`{"level":${level},`))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function untilLogged(service: StandaloneProcess, level: number, count: number): Promise<void> {
  while (logged(service, level).length < count) await once(service.child.stdout ?? service.child, 'data');
}

const unexpected = 'an unexpected error, which is in the log of the service';

const failing: Readonly<Record<string, string>> = {
  throws: `node "throws" failed: ${unexpected}`,
  'throws later': `node "throws later" failed: ${unexpected}`,
  'throws undefined': `node "throws undefined" failed: ${unexpected}`,
  'throws a text': `node "throws a text" failed: ${unexpected}`,
  'throws what has no text': `node "throws what has no text" failed: ${unexpected}`,
  'throws what throws': `node "throws what throws" failed: ${unexpected}`,
  'throws a revoked proxy': `node "throws a revoked proxy" failed: ${unexpected}`,
  'throws a huge text': `node "throws a huge text" failed: ${unexpected}`,
  'recurses for ever': `node "recurses for ever" failed: ${unexpected}`,
  'never settles in time': 'node "never settles in time" did not finish within 50 ms',
  'returns an unknown field': 'field "nobody" is not declared in the graph',
  'returns a wrong type': 'field "note" must be a string, not number',
  'returns a text': 'node "returns a text" returned no object of fields',
  'returns an array': 'node "returns an array" returned no object of fields',
  'returns a function': 'node "returns a function" returned no object of fields',
  'returns a BigInt': 'field "anything" holds a value that is not JSON: anything is a bigint',
  'returns a cycle': 'field "anything" holds a value that is not JSON: anything.self is an object that holds itself',
  'returns what is nested too deep': 'field "anything" holds a value that is nested too deep',
  'returns a function in a field': 'field "anything" holds a value that is not JSON: anything is a function',
  'returns NaN': 'field "ratio" must be a number, not NaN',
  'returns NaN where anything may be': 'field "anything" must be JSON, not NaN',
  'returns messages that are no array':
    'node "returns messages that are no array": messages must be an array, not string',
  'returns a message without content': 'node "returns a message without content": messages[0].content is required',
  'returns a message that is none': 'node "returns a message that is none": messages[0] must be an object, not null',
  'returns a message of an unknown role':
    'node "returns a message of an unknown role": messages[0].role must be one of user, assistant, system, tool',
  'returns a block without a type': 'node "returns a block without a type": messages[0].content[0].type is required',
  'returns what throws when it is read': `node "returns what throws when it is read" failed: ${unexpected}`,
  'fails in a reducer': `the reducer of field "hostile" failed: ${unexpected}`,
  'emits nonsense': 'node "emits nonsense": the emitted chunk must be a text or an object, not number',
  'emits nothing': 'node "emits nothing": the emitted chunk must be a text or an object, not undefined',
  'makes a huge state': 'field "note" has 104857602 bytes or more, and the size limit of the state is 2097152',
  'makes a huge message':
    'node "makes a huge message": messages[0].content has 104857600 bytes or more, and the size limit of a message is 2097152',
  'makes a huge block':
    'node "makes a huge block": messages[0].content[0] has 104857625 bytes or more, and the size limit of a message is 2097152',
  'makes many messages': 'a step has 104876100 bytes, more than 3145728',
  'makes very many messages': 'a step has 10001 messages, more than 10000',
  'asks a huge question': `node "asks a huge question" failed: ${unexpected}`,
  'emits a huge piece':
    'node "emits a huge piece": the emitted message has 104857600 bytes or more, and the size limit of a message is 2097152',
  'emits a huge block':
    'node "emits a huge block": the emitted chunk has 104857625 bytes or more, and the size limit of a message is 2097152',
  'emits for ever': 'node "emits for ever": 50000 chunks were emitted in one turn of the event loop',
};

test.serial(
  'a node that throws, or gives what no node may give, fails its run and no other, and is named',
  async (t) => {
    await using workspace = await makeWorkspace('misbehaving');
    await using gate = await openGate();
    // What is huge here is 100 MiB: a heap for four of them stands it only while nothing is copied on and on.
    await using service = await start({ ...workspace.env, NODE_OPTIONS: '--max-old-space-size=400' });
    const client = createClient(service.url);
    const others = await startOthers(client, gate);
    for (const [way, message] of Object.entries(failing)) {
      const { status, body } = await client.send('POST', '/v1/graph/invoke', toInput(way));
      const { code, message: text } = body.error as Failure;
      t.deepEqual([status, code, text], [500, 'NODE_ERROR', message], way);
    }
    gate.open();
    await othersEnd(t, client, others);
  },
);

test.serial('a graph that loops for ever ends at its limit, and one that leads nowhere fails', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  await using service = await start(workspace.env);
  const { send } = createClient(service.url);
  const loops = await send('POST', '/v1/graph/invoke', { ...toInput('loops for ever'), recursion_limit: 7 });
  const { meta, iterations, recursion_limit_reached: reached } = loops.body.data as Ended;
  t.deepEqual([loops.status, meta.status, iterations, reached], [200, 'completed', 7, true]);
  const lost = await send('POST', '/v1/graph/invoke', toInput('goes nowhere'));
  const { code, message } = lost.body.error as Failure;
  t.deepEqual([lost.status, code], [500, 'GRAPH_ERROR']);
  t.is(message, 'the edge from "goes nowhere" leads to the unknown node "nowhere"');
});

test.serial('a tool that answers too much tells the model so, and the run goes on', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  await using service = await start(workspace.env);
  const { body } = await createClient(service.url).send('POST', '/v1/graph/invoke', toInput('calls a tool'));
  const { meta, all_messages: messages } = body.data as Ended;
  t.is(meta.status, 'completed');
  t.like(messages.at(-1)?.content[0], {
    type: 'tool_result',
    is_error: true,
    output: 'The result weighs 104857602 bytes, more than 2093056.',
  });
});

test.serial('a message of one piece above 512 KiB streams whole, and again to whoever resumes', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  await using service = await start(workspace.env);
  const client = createClient(service.url);
  const chunks = await Array.fromAsync(
    client.stream({ ...toInput('emits a large piece'), response_granularity: 'low' }),
  );
  const expected = `${'x'.repeat(900 * 1024)}😀${'y'.repeat(900 * 1024)}`;
  const parts = chunks.filter(({ event, message }) => event === 'messages_chunk' && !message);
  t.true(parts.map(({ data }) => data as string).join('') === expected);
  const [runId = ''] = (chunks[0]?.id ?? '').split(':');
  const again = await (await fetch(`${service.url}/v1/runs/${runId}/stream`)).text();
  t.deepEqual(
    [...again.matchAll(/^id: (.*)$/gm)].map(([, id]) => id),
    chunks.map(({ id }) => id),
  );
  t.true(again.includes(JSON.stringify(expected)));
});

test.serial('what a node left behind may throw: the log names run and node, and nobody else is touched', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  await using gate = await openGate();
  await using service = await start(workspace.env);
  const client = createClient(service.url);
  const others = await startOthers(client, gate);
  const uncaught = {
    'leaves a timer that throws': 'uncaught error of a timer',
    'leaves a promise that rejects': 'uncaught error of a promise',
    'leaves a timer that throws nothing': 'undefined',
  };
  const nobody = { run_id: undefined, thread_id: undefined, node: undefined };
  const expected: unknown[] = [{ ...nobody, message: 'uncaught error of the module' }];
  for (const [way, message] of Object.entries(uncaught)) {
    const { run_id, thread_id } = await accept(client, toInput(way));
    t.is((await resultOf(client, run_id))?.meta.status, 'completed');
    expected.push({ run_id, thread_id, node: way, message });
    await untilLogged(service, 50, expected.length);
  }
  t.deepEqual(
    logged(service, 50).map(({ run_id, thread_id, node, err }) => ({
      run_id,
      thread_id,
      node,
      ...only(err, 'message'),
    })),
    expected,
  );
  gate.open();
  await othersEnd(t, client, others);
});

const only = (value: unknown, key: string): Record<string, unknown> => ({
  [key]: (value as Record<string, unknown>)[key],
});

test.serial(
  'of what throws outside of the agent, a rejection is logged and an exception ends the process',
  async (t) => {
    const backend = fileURLToPath(new URL('../backends/uncaught.ts', import.meta.url));
    await using workspace = await makeWorkspace('echo', { auth: { method: 'custom', path: `${backend}:Uncaught` } });
    await using service = await start(workspace.env);
    const { send } = createClient(service.url);
    t.is((await send('GET', '/v1/ping', undefined, { 'x-order': 'reject' })).status, 200);
    await untilLogged(service, 50, 1);
    t.like(logged(service, 50)[0], { err: { message: 'uncaught error of a backend' }, run_id: undefined });
    t.is((await send('GET', '/v1/ping', undefined, { 'x-order': 'nothing' })).status, 200);
    await send('GET', '/v1/ping', undefined, { 'x-order': 'throw' }).catch(() => undefined);
    t.truthy((await deathOf(service)).code);
  },
);

test.serial('what a node emits after its end is dropped, while its run goes on', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  await using service = await start(workspace.env);
  const chunks = await Array.fromAsync(createClient(service.url).stream(toInput('emits after its end')));
  t.like(chunks.at(-1)?.data, { node: 'never settles in time' });
  const parts = chunks.filter(({ event, message }) => event === 'messages_chunk' && !message);
  t.deepEqual(
    parts.map(({ data }) => data),
    ['in time'],
  );
});

test.serial('a node that never settles is stopped at once, and others beside it go on', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  await using gate = await openGate();
  await using service = await start(workspace.env);
  const client = createClient(service.url);
  const others = await startOthers(client, gate);
  const stream = client.stream(toInput('never settles', undefined, 'stuck'));
  while (((await stream.next()).value as Chunk | undefined)?.event !== 'on_chain_stream');
  const stopped = performance.now();
  const { body } = await client.send('POST', '/v1/graph/stop', { thread_id: 'stuck' });
  const rest = await Array.fromAsync(stream);
  t.true(performance.now() - stopped < byLoad(1000));
  t.like(body.data, { success: true, status: 'stopped' });
  t.is((rest.at(-1)?.data as Ended | undefined)?.meta.status, 'stopped');
  gate.open();
  await othersEnd(t, client, others);
});

interface Death {
  /** `null` when a signal ended the process. */
  readonly code: number | null;
  /** The last words in its log. */
  readonly line: Readonly<Record<string, unknown>> | undefined;
}

async function deathOf({ child, lines }: StandaloneProcess): Promise<Death> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return { code: child.exitCode, line: logged({ lines }, 60)[0] };
}

/** Starts the service and waits for its end: it may come before the service says where it listens. */
async function dieAgain(env: Readonly<Record<string, string>>): Promise<Death> {
  const child = spawn(process.execPath, [main], { env: { ...process.env, ...env, PORT: '0' } });
  const [printed] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { code: child.exitCode, line: logged({ lines: printed.split('\n') }, 60)[0] };
}

const main = fileURLToPath(import.meta.resolve('@agent-workflow/standalone/main'));

/** Long enough for a busy machine to turn the loop in, short enough to wait for. */
const limitMs = 1500;

for (const way of ['blocks at once', 'blocks later', 'blocks with promises', 'blocks in its edge'])
  test.serial(`of a node that ${way} the last line of the log says which node of which run it was`, async (t) => {
    const { death, runId } = await dieOf(way);
    t.is(death.code, null);
    const place = { service: 'standalone', thread_id: 'of the culprit', node: way };
    t.like(death.line, place, JSON.stringify(death.line));
    if (runId !== undefined) t.is(death.line?.['run_id'], runId);
    t.is(
      death.line?.['msg'],
      `the event loop was blocked by node "${way}" of run "${String(death.line?.['run_id'])}"; the process ends`,
    );
    t.regex(JSON.stringify(death.line?.['stack']), /misbehaving\.ts:\d+/);
  });

test.serial(
  'a node that blocks in native code cannot be asked: the last line names those that were under way',
  async (t) => {
    const { death, runId } = await dieOf('blocks natively');
    t.is(death.code, null);
    const among = death.line?.['oneOf'] as readonly { readonly run_id: string; readonly nodes: string }[];
    t.deepEqual(among.map(({ nodes }) => nodes).toSorted(), ['behaves', 'blocks natively', 'waits', 'waits']);
    if (runId !== undefined) t.is(among.find(({ nodes }) => nodes === 'blocks natively')?.run_id, runId);
  },
);

test.serial('where the log is text, its last line about a node that blocks is text too', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  await using service = await start({ ...workspace.env, BLOCK_LIMIT_MS: String(limitMs), LOG_FORMAT: 'text' });
  await accept(createClient(service.url), toInput('blocks later')).catch(() => undefined);
  t.is((await deathOf(service)).code, null);
  const last = service.lines.find((line) => line.includes('the event loop was blocked')) ?? service.lines.join('\n');
  t.regex(
    last,
    /^\d\d:\d\d:\d\d fatal the event loop was blocked by node "blocks later" of run "\S+"; the process ends /,
  );
  t.regex(last, / thread_id=\S+ /);
});

/** How the process ends of this way to misbehave, while others are under way; and the run, if there was time to accept it. */
async function dieOf(way: string): Promise<{ readonly death: Death; readonly runId: string | undefined }> {
  await using workspace = await makeWorkspace('misbehaving');
  await using gate = await openGate();
  await using service = await start({ ...workspace.env, BLOCK_LIMIT_MS: String(limitMs) });
  const client = createClient(service.url);
  await startOthers(client, gate);
  const accepted = await accept(client, toInput(way, undefined, 'of the culprit')).catch(() => undefined);
  return { death: await deathOf(service), runId: accepted?.run_id };
}

for (const way of ['blocks later', 'exits'])
  test.serial(`a run that ${way} is failed after three deaths, and the others end as they would have`, async (t) => {
    await using workspace = await makeWorkspace('misbehaving');
    await using gate = await openGate();
    const env = { ...workspace.env, BLOCK_LIMIT_MS: String(limitMs) };
    await using first = await start(env);
    const others = await startOthers(createClient(first.url), gate);
    // The process may end before it can say that the run is accepted.
    await accept(createClient(first.url), toInput(way, undefined, 'of the culprit')).catch(() => undefined);
    const deaths = [await deathOf(first), await dieAgain(env)];
    // Runs on their last claim go one after another: one that waits for ever would hold up the culprit.
    gate.open();
    deaths.push(await dieAgain(env));
    const code = way === 'exits' ? 3 : null;
    t.deepEqual(
      deaths.map((death) => death.code),
      [code, code, code],
    );

    await using last = await start(env);
    const client = createClient(last.url);
    const { run_id: runId } = (await client.send('GET', '/v1/threads/of%20the%20culprit')).body.data as Accepted;
    const { status, body } = await client.send('GET', `/v1/runs/${runId}/wait`);
    t.is(status, 500);
    t.like(body.error, { code: 'INTERNAL_ERROR', message: 'the run was claimed 3 times and committed nothing' });
    await othersEnd(t, client, others);
    const next = await client.send('POST', '/v1/graph/invoke', toInput('behaves', gate, 'of the culprit'));
    t.is(next.status, 200);
  });

test.serial('a process that was paused is not ended as blocked', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  await using gate = await openGate();
  await using service = await start({ ...workspace.env, BLOCK_LIMIT_MS: String(limitMs) });
  const client = createClient(service.url);
  const others = await startOthers(client, gate);
  for (let round = 0; round < 2; round++) {
    service.child.kill('SIGSTOP');
    // Time itself is what is tested.
    await delay(2 * limitMs);
    service.child.kill('SIGCONT');
    await delay(limitMs);
  }
  gate.open();
  await othersEnd(t, client, others);
});

test.serial('a process under a debugger is not ended as blocked', async (t) => {
  await using workspace = await makeWorkspace('misbehaving');
  const env = { BLOCK_LIMIT_MS: String(limitMs), NODE_OPTIONS: '--inspect=127.0.0.1:0' };
  await using service = await start({ ...workspace.env, ...env });
  await accept(createClient(service.url), toInput('blocks later'));
  await Promise.race([once(service.child, 'exit'), delay(3 * limitMs)]);
  t.deepEqual([service.child.exitCode, service.child.signalCode], [null, null]);
});
