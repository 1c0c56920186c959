import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { byLoad } from '../by-load.ts';
import { sendingTo, user } from '../servers/client.ts';
import { agentAt, makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { until } from '../until.ts';

interface Run {
  readonly run_id: string;
  readonly status: string;
  readonly interrupts?: readonly { readonly id: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** A service whose agent gives everything to an agent of another, and which can be killed. */
async function openBoth(t: ExecutionContext, agent: string) {
  const theirs = await makeWorkspace(null, { agents: { [agent]: agentAt(agent) }, default_agent: agent });
  const ours = await makeWorkspace(null, {
    agents: { delegating: agentAt('delegating') },
    default_agent: 'delegating',
  });
  const other = await startStandalone(theirs.env);
  const env = { ...ours.env, DELEGATE_TO: `${other.url}/a2a/${agent}` };
  let own = await startStandalone(env);
  t.teardown(async () => {
    await own[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
    await theirs[Symbol.asyncDispose]();
    await ours[Symbol.asyncDispose]();
  });
  const send = sendingTo(() => own.url);
  const runOf = async (id: string): Promise<Run> => (await send('GET', `/v1/runs/${id}`)).body.data;
  return {
    send,
    runOf,
    statusOf: async (id: string): Promise<string> => (await runOf(id)).status,
    kill: async () => {
      await own.stop('SIGKILL');
      own = await startStandalone(env);
    },
    /** What the other service has run. */
    theirRuns: async (): Promise<readonly Run[]> => {
      const reply = await fetch(`${other.url}/v1/runs`);
      return ((await reply.json()) as { data: { runs: Run[] } }).data.runs;
    },
  };
}

const textsOf = (body: unknown): string => JSON.stringify(body);

test('a task of another agent outlives kills before its question, before the answer, and before its end', async (t) => {
  t.timeout(byLoad(120_000));
  const { send, runOf, statusOf, kill, theirRuns } = await openBoth(t, 'recorded');
  const begun = await send('POST', '/v1/runs', { messages: [user('ask')], config: { thread_id: 'one' } });
  const { run_id } = begun.body.data as Run;
  await until(async () => (await statusOf(run_id)) === 'sleeping');
  await kill();
  await until(async () => (await statusOf(run_id)) === 'interrupted');
  const asked = await send('GET', `/v1/runs/${run_id}/wait`);
  t.regex(textsOf(asked.body), /"type":"a2a","agent":"recorded","message":"go on\?"/);
  await kill();
  const answered = await send('POST', '/v1/runs', { resume: 'yes', config: { thread_id: 'one' } });
  const { run_id: second } = answered.body.data as Run;
  await kill();
  await until(async () => (await statusOf(second)) === 'completed');
  const ended = await send('GET', `/v1/runs/${second}/wait`);
  t.regex(textsOf(ended.body), /you said yes/);
  t.is((await runOf(run_id)).status, 'interrupted');
  // One run that asks, and one that its answer is: nothing was begun twice.
  t.is((await theirRuns()).length, 2);
});

/** An agent of A2A whose task works for ever, and which does not answer how it stands. */
async function openSilent(t: ExecutionContext): Promise<{ readonly url: string; readonly methods: readonly string[] }> {
  const methods: string[] = [];
  let url = '';
  const server = createServer((request, reply) => {
    let text = '';
    request.on('data', (data: Buffer) => (text += data.toString()));
    request.on('end', () => {
      const card = {
        name: 'silent',
        supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      };
      if (request.method === 'GET') return reply.end(JSON.stringify(card));
      const { method } = JSON.parse(text) as { method: string };
      methods.push(method);
      const task = { id: 'a-task', contextId: 'a-context', status: { state: 'TASK_STATE_WORKING' } };
      return method === 'GetTask' ? undefined : reply.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task } }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url, methods };
}

test('a run that is stopped while it asks how a task stands cancels the task', async (t) => {
  t.timeout(byLoad(120_000));
  const silent = await openSilent(t);
  const workspace = await makeWorkspace(null, {
    agents: { delegating: agentAt('delegating') },
    default_agent: 'delegating',
  });
  t.teardown(() => workspace[Symbol.asyncDispose]());
  const own = await startStandalone({ ...workspace.env, DELEGATE_TO: silent.url });
  t.teardown(() => own[Symbol.asyncDispose]());
  const send = sendingTo(() => own.url);
  const begun = await send('POST', '/v1/runs', { messages: [user('hello')] });
  const { run_id } = begun.body.data as Run;
  await until(() => silent.methods.includes('GetTask'));
  await send('POST', `/v1/runs/${run_id}/cancel`, {});
  await until(() => silent.methods.includes('CancelTask'));
  t.is(silent.methods.filter((method) => method === 'SendMessage').length, 1);
});
