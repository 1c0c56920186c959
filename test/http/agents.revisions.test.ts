import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStandalone } from '@agent-workflow/standalone/standalone';
import test, { type ExecutionContext } from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { openGate } from '../servers/gate.ts';
import { agentAt, makeWorkspace, testedAgent } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { embeddedOnly } from './shape.ts';
import { twoAgents } from './two-agents.ts';

interface Described {
  readonly name: string;
  readonly routing?: object;
  readonly revisions?: readonly {
    readonly revision: string;
    readonly state: string;
    readonly percent: number;
    readonly open_runs?: number;
    readonly workers?: number;
  }[];
}

async function dataFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'revisions-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

const agentOf = async ({ send }: Client, name: string): Promise<Described> =>
  (await send('GET', `/v1/agents/${name}`)).body.data;

const statesOf = ({ revisions = [] }: Described): Record<string, string> =>
  Object.fromEntries(revisions.map(({ revision, state }) => [revision, state]));

const revisionOfRun = async ({ send }: Client, threadId: string): Promise<unknown> => {
  await send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { thread_id: threadId } });
  const { runs } = (await send('GET', `/v1/runs?limit=1`)).body.data as { runs: { revision?: string }[] };
  return runs[0]?.revision;
};

embeddedOnly(
  test,
  'agents and runs show their revisions, and a new one serves new runs from its start on',
  async (t) => {
    const env = { DATA_DIR: await dataFolder(t) };
    {
      await using service = await openEmbedded(null, { ...env, AGENT_REVISION: 'v1' }, twoAgents);
      const client = createClient(service.url);
      t.is(await revisionOfRun(client, 't1'), 'v1');
      for (const name of ['support', 'office']) {
        const agent = await agentOf(client, name);
        t.deepEqual(agent.routing, { version: 1, current: 'v1' });
        t.like(agent.revisions, [{ revision: 'v1', state: 'current', percent: 100 }]);
      }
      const { agents } = (await client.send('GET', '/v1/agents')).body.data as { agents: Described[] };
      t.deepEqual(agents.map(statesOf), [{ v1: 'current' }, { v1: 'current' }]);
    }
    await using service = await openEmbedded(null, { ...env, AGENT_REVISION: 'v2' }, twoAgents);
    const client = createClient(service.url);
    t.is(await revisionOfRun(client, 't1'), 'v2');
    t.deepEqual(statesOf(await agentOf(client, 'support')), { v1: 'draining', v2: 'current' });
  },
);

/** Without its workers, which are known some time after the start. */
const asRegistered = ({ revisions = [], ...agent }: Described): object => ({
  ...agent,
  revisions: revisions.map(({ workers: _, ...revision }) => revision),
});

embeddedOnly(
  test,
  'an agent that is registered and held by nobody is listed and described as it is registered',
  async (t) => {
    const env = { DATA_DIR: await dataFolder(t), AGENT_REVISION: 'v1' };
    let before: Described;
    {
      await using service = await openEmbedded(null, env, twoAgents);
      before = await agentOf(createClient(service.url), 'office');
    }
    const { office: _, ...agents } = twoAgents.agents;
    await using service = await openEmbedded(null, env, { ...twoAgents, agents });
    const client = createClient(service.url);
    t.deepEqual(asRegistered(await agentOf(client, 'office')), asRegistered(before));
    const listed = (await client.send('GET', '/v1/agents')).body.data as { agents: Described[] };
    t.deepEqual(
      listed.agents.map(({ name }) => name),
      ['support', 'office'],
    );
  },
);

embeddedOnly(test, 'another build under a registered revision does not start, and says what to change', async (t) => {
  const env = { DATA_DIR: await dataFolder(t), AGENT_REVISION: 'v1' };
  {
    await using first = await openEmbedded('obedient', env);
    t.truthy(first.url);
  }
  await t.throwsAsync(openEmbedded('clerk', env), {
    name: 'ConfigError',
    message: new RegExp(`AGENT_REVISION: revision "v1" of agent "${testedAgent}" is registered with another schema`),
  });
});

embeddedOnly(test, 'a revision that is no name of one does not start', async (t) => {
  await t.throwsAsync(openEmbedded('obedient', { AGENT_REVISION: 'a b' }), {
    name: 'ConfigError',
    message: /AGENT_REVISION/,
  });
});

embeddedOnly(test, 'without a revision agents and runs have none', async (t) => {
  await using service = await openEmbedded(null, {}, twoAgents);
  const client = createClient(service.url);
  t.is(await revisionOfRun(client, 't1'), undefined);
  t.deepEqual(
    Object.keys(await agentOf(client, 'support')).filter((key) => ['routing', 'revisions'].includes(key)),
    [],
  );
});

embeddedOnly(test, 'routing says which revisions serve, and refuses what cannot be, by its field', async (t) => {
  const env = { DATA_DIR: await dataFolder(t) };
  for (const revision of ['v1', 'v2'])
    await (await openEmbedded(null, { ...env, AGENT_REVISION: revision }, twoAgents))[Symbol.asyncDispose]();
  await using service = await openEmbedded(null, { ...env, AGENT_REVISION: 'v2' }, twoAgents);
  const client = createClient(service.url);
  const path = '/v1/agents/support/routing';
  const put = async (body: object): Promise<readonly [status: number, told: unknown]> => {
    const { status, body: reply } = await client.send('PUT', path, body);
    const { error } = reply as { error?: { message: string; details: readonly { loc: unknown }[] } };
    return [status, error?.details[0]?.loc ?? error?.message];
  };
  t.deepEqual((await agentOf(client, 'support')).routing, { version: 2, current: 'v2' });
  t.deepEqual(await put({ version: 1, current: 'v1' }), [409, 'the routing of agent "support" has version 2, not 1']);
  t.deepEqual(await put({ version: 2, current: 'v7' }), [422, ['body', 'current']]);
  const odd = { version: 2, current: 'v2', ramping: { revision: 'v1', percent: 0.125 } };
  t.deepEqual(await put(odd), [422, ['body', 'ramping', 'percent']]);
  t.is((await client.send('PUT', '/v1/agents/nobody/routing', { version: 0, current: 'v1' })).status, 404);
  const ramp = { version: 2, current: 'v2', ramping: { revision: 'v1', percent: 12.5 } };
  for (const attempt of [1, 2]) t.is((await put(ramp))[0], 200, `attempt ${String(attempt)}`);
  t.deepEqual(statesOf(await agentOf(client, 'support')), { v1: 'ramping', v2: 'current' });
  t.is((await client.send('POST', '/v1/agents/support/revisions/v1/retire')).status, 409);
  t.is((await put({ version: 3, current: 'v2' }))[0], 200);
  for (const attempt of [1, 2])
    t.is(
      (await client.send('POST', '/v1/agents/support/revisions/v1/retire')).status,
      200,
      `attempt ${String(attempt)}`,
    );
  t.deepEqual(statesOf(await agentOf(client, 'support')), { v1: 'retired', v2: 'current' });
  t.deepEqual(await put({ version: 4, current: 'v1' }), [422, ['body', 'current']]);
  t.is((await client.send('POST', '/v1/agents/support/revisions/v9/retire')).status, 404);
});

embeddedOnly(
  test,
  'when a revision is retired, its runs without a step move to the current one, and the others fail',
  async (t) => {
    const env = { DATA_DIR: await dataFolder(t), DRAIN_SECONDS: '1', LEASE_MS: '500', RUN_CONCURRENCY: '1' };
    const service = { agents: { waits: agentAt('gated') } };
    await using gate = await openGate();
    const start = async (client: Client, thread_id: string): Promise<string> => {
      const body = { messages: [user('x')], config: { thread_id, gate: gate.url } };
      return ((await client.send('POST', '/v1/runs', body)).body.data as { run_id: string }).run_id;
    };
    let begun = '';
    let queued = '';
    {
      await using first = await openEmbedded(null, { ...env, AGENT_REVISION: 'v1' }, service);
      begun = await start(createClient(first.url), 'begun');
      await gate.visited(1);
      queued = await start(createClient(first.url), 'queued');
    }
    gate.open();
    // Sweeps count open runs, and enqueue those that have waited.
    await using workspace = await makeWorkspace(null, service);
    const place = { ...workspace.env, ...env, PORT: '0', LOG_LEVEL: 'silent' };
    await using second = await openStandalone({ ...place, AGENT_REVISION: 'v2' }, { sweepMs: 100, waitingMs: 500 });
    const client = createClient(second.url);
    const runOf = async (id: string): Promise<Readonly<Record<string, unknown>>> =>
      (await client.send('GET', `/v1/runs/${id}`)).body.data;
    await client.send('GET', `/v1/runs/${await start(client, 'other')}/wait`);
    for (const id of [begun, queued]) t.like(await runOf(id), { status: 'queued', revision: 'v1' });
    const openRuns = async (name: string): Promise<number | undefined> =>
      (await agentOf(client, 'waits')).revisions?.find(({ revision }) => revision === name)?.open_runs;
    await until(async () => (await openRuns('v1')) === 2);
    t.is(statesOf(await agentOf(client, 'waits'))['v1'], 'draining');
    t.is((await client.send('POST', '/v1/agents/waits/revisions/v1/retire')).status, 200);
    for (const id of [begun, queued]) await client.send('GET', `/v1/runs/${id}/wait`);
    t.like(await runOf(queued), { status: 'completed', revision: 'v2' });
    const failed = await runOf(begun);
    t.is(failed['status'], 'failed');
    t.regex((failed['error'] as { message: string }).message, /v1.*retired/);
  },
);

/** One agent, `waits`, which is a file of `test/agents`. */
const at = (agent: string): Readonly<Record<string, unknown>> => ({
  agents: { waits: agentAt(agent) },
  default_agent: 'waits',
});

const answer = { messages: [], resume: 'yes', config: { thread_id: 'asked' } };

embeddedOnly(
  test,
  'an answer goes to the revision that asked, also where the build that is here lacks its node',
  async (t) => {
    const env = { DATA_DIR: await dataFolder(t) };
    {
      await using service = await openEmbedded(null, { ...env, AGENT_REVISION: 'v1' }, at('asking'));
      const question = { messages: [user('ask')], config: { thread_id: 'asked' } };
      await createClient(service.url).send('POST', '/v1/graph/invoke', question);
    }
    let runId = '';
    {
      await using service = await openEmbedded(null, { ...env, AGENT_REVISION: 'v2' }, at('obedient'));
      const client = createClient(service.url);
      const { status, body } = await client.send('POST', '/v1/runs', answer);
      t.is(status, 202, 'no worker of v1 is here, and the answer waits for one');
      runId = (body.data as { run_id: string }).run_id;
      t.like((await client.send('GET', `/v1/runs/${runId}`)).body.data, { status: 'queued', revision: 'v1' });
    }
    await using service = await openEmbedded(null, { ...env, AGENT_REVISION: 'v1' }, at('asking'));
    const { body } = await createClient(service.url).send('GET', `/v1/runs/${runId}/wait`);
    const { meta } = body.data as { meta: { interrupts: readonly object[] } };
    t.like(meta.interrupts, [{ node: 'ask', value: { question: 'What colour?' } }]);
  },
);

embeddedOnly(test, 'an answer to a retired revision whose node is gone is a conflict', async (t) => {
  const env = { DATA_DIR: await dataFolder(t) };
  {
    await using service = await openEmbedded(null, { ...env, AGENT_REVISION: 'v1' }, at('asking'));
    const question = { messages: [user('ask')], config: { thread_id: 'asked' } };
    await createClient(service.url).send('POST', '/v1/graph/invoke', question);
  }
  await using service = await openEmbedded(null, { ...env, AGENT_REVISION: 'v2' }, at('obedient'));
  const client = createClient(service.url);
  t.is((await client.send('POST', '/v1/agents/waits/revisions/v1/retire')).status, 200);
  const { status, body } = await client.send('POST', '/v1/runs', answer);
  t.is(status, 409);
  t.regex((body as { error: { message: string } }).error.message, /which the agent no longer has/);
});
