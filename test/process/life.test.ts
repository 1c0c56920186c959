import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createClient, user, type Chunk } from '../servers/client.ts';
import { openGate } from '../servers/gate.ts';
import { startProcess } from '../servers/process.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { byLoad } from '../by-load.ts';

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} lets a running invoke and a running stream finish, and ends with exit code 0`, async (t) => {
    await using workspace = await makeWorkspace('gated');
    await using gate = await openGate();
    const service = await startStandalone(workspace.env);
    const client = createClient(service.url);
    const config = { gate: gate.url };
    const invoke = client.send('POST', '/v1/graph/invoke', { messages: [user('go')], config });
    const stream = Array.fromAsync(client.stream({ messages: [user('go')], config }));
    await gate.visited(2);

    const stopped = service.stop(signal);
    await t.throwsAsync(untilRefused(service.url), undefined, 'nothing new is let in');
    gate.open();

    t.is((await invoke).status, 200);
    t.is((await stream).at(-1)?.event, 'on_chain_end');
    t.is(await stopped, 0);
  });
}

test('a stream that outlives the drain ends without a terminal event, and the exit code is 0', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  const service = await startStandalone({ ...workspace.env, DRAIN_SECONDS: '1' });
  const chunks: Chunk[] = [];
  const stream = (async () => {
    for await (const chunk of createClient(service.url).stream({ messages: [user('go')], config: { gate: gate.url } }))
      chunks.push(chunk);
  })();
  await gate.visited(1);
  t.is(await service.stop('SIGTERM'), 0);
  await stream;
  t.true(chunks.length > 0);
  t.false(chunks.some(({ event }) => event === 'on_chain_end' || event === 'error'));
});

test('a second process on the same folder is refused with one line', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using _first = await startStandalone(workspace.env);
  const error = await t.throwsAsync(startStandalone(workspace.env));
  t.is(error.message, `exit code 1: DATA_DIR ${join(workspace.folder, 'data')} is in use by another process`);
});

test('a process whose data is in memory says so at its start', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone({ ...workspace.env, DATA_DIR: ':memory:' });
  t.true(service.lines.some((line) => line.endsWith('; data: in memory, gone when the process ends')));
});

test('a port that another process listens at stops the start with one line, whichever port it is', async (t) => {
  const taken = createServer();
  await once(taken.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const line = `exit code 1: 127.0.0.1:${String(port)} cannot be listened at: another process listens there`;
  await using workspace = await makeWorkspace('echo');
  const at = { METRICS_HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1' };
  for (const name of ['PORT', 'METRICS_PORT']) {
    const error = await t.throwsAsync(startStandalone({ ...workspace.env, ...at, [name]: String(port) }));
    t.is(error.message, line, name);
  }
  const entry = fileURLToPath(import.meta.resolve('@agent-workflow/memory/main'));
  for (const name of ['GRPC_PORT', 'HEALTH_PORT', 'METRICS_PORT']) {
    const env = { ...workspace.env, ...at, GRPC_PORT: '0', [name]: String(port) };
    t.is((await t.throwsAsync(startProcess({ entry, env }))).message, line, name);
  }
});

test('a host that is not there stops the start with one line that names the setting', async (t) => {
  await using workspace = await makeWorkspace('echo');
  const metrics = { METRICS_PORT: '0', METRICS_HOST: '127.0.0.1' };
  const refusal = async (env: Readonly<Record<string, string>>): Promise<string | undefined> =>
    (await t.throwsAsync(startStandalone({ ...workspace.env, ...metrics, ...env }))).message;
  const name = '999.1.1.1';
  const line = (variable: string): string =>
    `exit code 1: ${variable} ${name} cannot be listened at: no address is found for this name`;
  for (const variable of ['HOST', 'METRICS_HOST']) t.is(await refusal({ [variable]: name }), line(variable));
  // An address that is reserved for examples.
  const foreign = await refusal({ HOST: '192.0.2.1', PORT: '0' });
  t.is(foreign, 'exit code 1: 192.0.2.1 cannot be listened at: this machine has no such address');
  const entry = fileURLToPath(import.meta.resolve('@agent-workflow/memory/main'));
  const env = { ...workspace.env, ...metrics, GRPC_PORT: '0', GRPC_HOST: name, SERVICE_TOKEN: 'token' };
  t.is((await t.throwsAsync(startProcess({ entry, env }))).message, line('GRPC_HOST'));
});

test('an agent that holds its process by a timer does not keep it from ending after the drain', async (t) => {
  await using workspace = await makeWorkspace('holding');
  const service = await startStandalone({ ...workspace.env, DRAIN_SECONDS: '1' });
  await createClient(service.url).send('POST', '/v1/graph/invoke', { messages: [user('hello')] });
  const messages = [user('one'), user('two')];
  const { status } = await createClient(service.url).send('POST', '/v1/runs', { messages });
  t.is(status, 202);
  t.timeout(byLoad(30_000), 'the process goes on');
  t.is(await service.stop('SIGTERM'), 0);
});

test('what was written before a stop is there after the next start', async (t) => {
  await using workspace = await makeWorkspace('echo');
  const first = await startStandalone(workspace.env);
  const before = createClient(first.url);
  await before.send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id: 'kept' } });
  const memory = { content: 'The harbour opens at six', memory_type: 'semantic', category: 'facts' };
  await before.send('POST', '/v1/store/memories', memory);
  const paths = ['/v1/threads/kept', '/v1/threads/kept/messages', '/v1/threads/kept/state', '/v1/store/memories'];
  const read = async (client: typeof before): Promise<unknown[]> =>
    Promise.all(paths.map(async (path) => (await client.send('GET', path)).body.data as unknown));
  const written = await read(before);
  t.is(await first.stop('SIGTERM'), 0);

  await using second = await startStandalone(workspace.env);
  t.deepEqual(await read(createClient(second.url)), written);
});

const broken: readonly (readonly [string, string, RegExp])[] = [
  ['a file that is not JSON', '{', /^exit code 1: .*service\.json: is not JSON: .*$/],
  [
    'an unknown key',
    '{"agnet":"x:y"}',
    /^exit code 1: .*service\.json: unknown key "agnet"; the known keys are agent, agents, default_agent, auth, authorization, access$/,
  ],
  [
    'an agent without an object',
    '{"agent":"./x.ts"}',
    /^exit code 1: .*service\.json: agent must be "<module>:<object>", not "\.\/x\.ts"$/,
  ],
  [
    'an agent that is not there',
    '{"agent":"./x.ts:graph"}',
    /^exit code 1: agent "\.\/x\.ts:graph": there is no module "\.\/x\.ts" in \S+$/,
  ],
  [
    'a default agent without agents',
    '{"default_agent":"a"}',
    /^exit code 1: service\.json: default_agent names one of agents, and there are none$/,
  ],
  [
    'a mode of authentication that is not known',
    '{"auth":"basic"}',
    /^exit code 1: .*service\.json: auth must be null, "jwt" or .*, not "basic"$/,
  ],
];

for (const [what, content, line] of broken) {
  test(`${what} stops the start with one line that says what and where`, async (t) => {
    await using workspace = await makeWorkspace('echo');
    await writeFile(workspace.env['SERVICE_CONFIG'] ?? '', content);
    const error = await t.throwsAsync(startStandalone(workspace.env));
    t.regex(error.message, line);
  });
}

for (const [what, env] of [
  ['nothing else', {}],
  ['the port of the metrics beside it', { METRICS_PORT: '0' }],
] as const)
  test(`an agent that waits for ever while it loads stops the start with one line, with ${what}`, async (t) => {
    await using workspace = await makeWorkspace('echo');
    await writeFile(join(workspace.folder, 'waits.mjs'), 'await new Promise(() => undefined);');
    await writeFile(join(workspace.folder, 'service.json'), '{"agent":"./waits.mjs:graph"}');
    const error = await t.throwsAsync(startStandalone({ ...workspace.env, ...env }));
    t.is(
      error.message,
      'exit code 1: agent "./waits.mjs:graph": "./waits.mjs" does not load: a top-level await in it, or in a file that it imports, never ends',
    );
  });

test('settings that do not hold stop the start, all of them named', async (t) => {
  await using workspace = await makeWorkspace('echo');
  const error = await t.throwsAsync(startStandalone({ ...workspace.env, PORT: 'http', RUN_CONCURRENCY: '0' }));
  t.is(
    error.message,
    'exit code 1: PORT must be a whole number from 0 to 65535, not "http"\nRUN_CONCURRENCY must be a whole number from 1 to 10000, not "0"',
  );
});

/** Knocks until the door is closed. */
async function untilRefused(url: string): Promise<never> {
  for (;;) await fetch(`${url}/v1/ping`, { headers: { connection: 'close' } });
}
