import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import { openWireServer } from '@agent-workflow/protos/wire/serve';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { call } from '../contract/thread-calls.ts';

const main = fileURLToPath(new URL('../../services/command/main.ts', import.meta.url));
const graph = new URL('../../services/graph/index.ts', import.meta.url).href;

type Security = NonNullable<Parameters<typeof openWireServer>[1]['security']>;

interface Ended {
  readonly code: number;
  readonly printed: string;
}

interface Project {
  readonly threads: Threads;
  readonly address: string;
  /** How many calls were refused because their caller is not known. */
  readonly refusedCalls: () => number;
  /** Makes the one agent a graph of one node of this name. */
  readonly build: (node: string) => Promise<void>;
  readonly register: (env: Readonly<Record<string, string>>, ...args: readonly string[]) => Promise<Ended>;
}

/** A project with an agent, and a threads service that listens. */
async function openProject(t: ExecutionContext, security: Security = {}): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'register-'));
  const store = openSqliteThreadStore({ path: ':memory:' });
  let refusedCalls = 0;
  const server = await openWireServer(['threads'], {
    ...{ host: '127.0.0.1', port: 0, drainMs: 100, security },
    onUnknownCaller: () => refusedCalls++,
    onFailure: (error) => t.log(error.message),
  });
  t.teardown(async () => {
    await server[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const threads = createThreads({ store });
  server.provide('threads', threads);
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agents: { support: './agent.ts:graph' } }));
  return {
    threads,
    address: server.address,
    refusedCalls: () => refusedCalls,
    build: async (node) =>
      writeFile(
        join(folder, 'agent.ts'),
        `import { START, StateGraph } from '${graph}';
         export const graph = new StateGraph({}).addNode('${node}', () => undefined).addEdge(START, '${node}').compile();`,
      ),
    register: async (given, ...args) =>
      new Promise((resolve) => {
        const env = { ...process.env, THREADS_ADDRESS: server.address, ...given };
        execFile(process.execPath, [main, 'agents', 'register', ...args], { cwd: folder, env }, (error, out, err) => {
          resolve({ code: typeof error?.code === 'number' ? error.code : 0, printed: out + err });
        });
      }),
  };
}

/** Answers as a gateway that has the agent with these revisions. */
async function openGateway(
  t: ExecutionContext,
  revisions: readonly object[],
): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ data: { name: 'support', revisions }, metadata: {} }));
  });
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  t.teardown(close);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}`, close };
}

const routingOf = async (threads: Threads): Promise<unknown> =>
  (await threads.getRegisteredAgent({ agent: 'support' }, call())).routing;

test('agents are registered and get new runs, and the same command given again changes nothing', async (t) => {
  const { threads, build, register } = await openProject(t);
  await build('one');
  for (const _ of ['first', 'again']) {
    const { code, printed } = await register({ AGENT_REVISION: 'v1' });
    t.is(code, 0, printed);
    t.regex(printed, /^agent support, revision v1, current v1, routing version 1\n$/);
  }
  t.deepEqual(await routingOf(threads), { version: 1, current: 'v1' });
});

test('where a gateway is named, the command warns of revisions that get new runs and have no worker', async (t) => {
  const { build, register } = await openProject(t);
  await build('one');
  const gateway = await openGateway(t, [
    { revision: 'v1', percent: 100, workers: 0 },
    { revision: 'v0', percent: 0, workers: 0 },
  ]);
  const at = ['--url', gateway.url];
  const warned = await register({ AGENT_REVISION: 'v1' }, ...at);
  t.is(warned.code, 0);
  t.regex(
    warned.printed,
    /\nwarning: agent support: no worker of revision "v1" is there: its runs wait until one comes\n$/,
  );
  const silent = await register({ AGENT_REVISION: 'v1' }, '--routing', 'none', ...at);
  t.deepEqual([silent.code, silent.printed.includes('warning')], [0, false]);
  gateway.close();
  const away = await register({ AGENT_REVISION: 'v1' }, ...at);
  t.is(away.code, 0);
  t.regex(away.printed, /^agent support, .*\nwarning: it could not be seen whether workers are there: .+\n$/);
});

test('an earlier revision that is registered again gets the new runs back, as a rollback of its chart asks', async (t) => {
  const { threads, build, register } = await openProject(t);
  await build('one');
  await register({ AGENT_REVISION: 'v1' });
  await build('two');
  await register({ AGENT_REVISION: 'v2' });
  t.deepEqual(await routingOf(threads), { version: 2, current: 'v2' });
  await build('one');
  for (const _ of ['first', 'again']) {
    const { code, printed } = await register({ AGENT_REVISION: 'v1' }, '--routing', 'auto');
    t.is(code, 0, printed);
    t.deepEqual(await routingOf(threads), { version: 3, current: 'v1' });
  }
  const { revisions } = await threads.getRegisteredAgent({ agent: 'support' }, call());
  t.deepEqual(
    revisions.map(({ revision, state }) => [revision, state]),
    [
      ['v1', 'current'],
      ['v2', 'draining'],
    ],
  );
});

test('without routing new runs stay where they are', async (t) => {
  const { threads, build, register } = await openProject(t);
  await build('one');
  await register({ AGENT_REVISION: 'v1' });
  await build('two');
  const { code, printed } = await register({ AGENT_REVISION: 'v2' }, '--routing', 'none');
  t.is(code, 0, printed);
  t.deepEqual(await routingOf(threads), { version: 1, current: 'v1' });
  const { nodes } = await threads.getRevision({ agent: 'support', revision: 'v2' }, call());
  t.deepEqual(nodes, ['two']);
});

test('another build under a registered revision is refused, as are a missing revision and an unknown routing', async (t) => {
  const { threads, build, register } = await openProject(t);
  await build('one');
  t.regex((await register({ AGENT_REVISION: '' })).printed, /AGENT_REVISION must be set/);
  t.is((await register({ AGENT_REVISION: 'v1' }, '--routing', 'some')).code, 2);
  await register({ AGENT_REVISION: 'v1' });
  await build('two');
  const { code, printed } = await register({ AGENT_REVISION: 'v1' });
  t.is(code, 1);
  t.regex(printed, /revision "v1" of agent "support" is registered with another schema/);
  t.deepEqual(await routingOf(threads), { version: 1, current: 'v1' });
});

test('without the token of the service, or with a wrong one, the command fails at its first call and says which setting it is', async (t) => {
  const { address, refusedCalls, build, register } = await openProject(t, { token: 'right' });
  await build('one');
  for (const [index, token] of ['', 'wrong'].entries()) {
    const { code, printed } = await register({ AGENT_REVISION: 'v1', SERVICE_TOKEN: token });
    t.is(code, 1);
    t.is(printed, `the threads service at ${address} does not know the caller: SERVICE_TOKEN is absent or wrong\n`);
    t.is(refusedCalls(), index + 1);
  }
  t.is((await register({ AGENT_REVISION: 'v1', SERVICE_TOKEN: 'right' })).code, 0);
});

test('where no threads service is, the command fails with a line that names the address and its setting', async (t) => {
  const { build, register } = await openProject(t);
  await build('one');
  const { code, printed } = await register({ AGENT_REVISION: 'v1', THREADS_ADDRESS: 'nowhere.invalid:50051' });
  t.is(code, 1);
  t.regex(
    printed,
    /^(?:the agents cannot be registered yet: [^\n]+; it is tried again\n)+a needed service is unavailable: the threads service does not answer at nowhere\.invalid:50051 \(THREADS_ADDRESS\): [^\n]+\n$/,
  );
});
