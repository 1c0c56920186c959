import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { registerFrom } from '@agent-workflow/execution/register';
import { within } from '@agent-workflow/protos/call';
import { connect } from '@agent-workflow/protos/wire/connect';
import { createClient, user } from '../servers/client.ts';
import { withCluster } from '../servers/cluster-suite.ts';
import { openNatsWithAccounts, poolsPrefix } from '../servers/nats-pools.ts';
import { freePorts } from '../servers/real-process.ts';
import { agentAt, makeWorkspace } from '../servers/standalone.ts';
import { uploadTo } from '../servers/uploads.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

/** Each worker process is of a pool with a token and a NATS account of its own, and holds one agent. */
const revision = 'v1';
const agents = { support: agentAt('working'), billing: agentAt('remembering'), archive: agentAt('filing') };
const tokenOf = (pool: string): string => `the token of ${pool}`;
const lines: string[] = [];

const folder = await mkdtemp(join(tmpdir(), 'pool-tokens-'));
const opened = new AsyncDisposableStack();
test.after.always(async () => {
  await opened.disposeAsync();
  await rm(folder, { recursive: true });
});
const credentials = join(folder, 'pools.json');

const options = async () => {
  const entries = Object.keys(agents).map((pool) => ({
    pool,
    sha256: createHash('sha256').update(tokenOf(pool)).digest('hex'),
    agents: [pool],
  }));
  await writeFile(credentials, JSON.stringify(entries));
  const [port = 0] = await freePorts(1);
  const { urlOf } = opened.use(await openNatsWithAccounts(Object.keys(agents), [revision]));
  return {
    agent: null,
    service: { agent: null, default_agent: 'support' },
    workers: Object.entries(agents).map(([name, path]) => ({
      service: { agent: undefined, agents: { [name]: path } },
      // A worker serves nobody: what pools there are is not its business.
      env: {
        ...{ POOL: name, SERVICE_TOKEN: tokenOf(name), POOL_CREDENTIALS: '', GRANT_SECRET: '', FILES_SECRET: '' },
        FILES_URL: `http://127.0.0.1:${String(port)}`,
        ...{ NATS_URL: urlOf(name), NATS_ACCESS: 'pool' },
      },
    })),
    ports: [port],
    ...{ gateways: 1, threads: 1, executions: 1 },
    env: {
      ...{ FILES_FOLDER: join(folder, 'files'), FILES_SECRET: 'what the gateway alone seals addresses with' },
      ...{ RATE_LIMIT_REQUESTS: '0', AGENT_REVISION: revision, POOL_CREDENTIALS: credentials },
      ...{ GRANT_SECRET: 'a secret that threads and memory share', NATS_URL: urlOf('api'), NATS_PREFIX: poolsPrefix },
    },
    onLine: (name: string, line: string) => void lines.push(`${name}: ${line}`),
  };
};

withCluster(test, options, (cluster) => {
  const client = (): ReturnType<typeof createClient> => createClient(cluster().urls[0] ?? '');
  const invoke = async (agent: string, text: string) =>
    client().send('POST', '/v1/graph/invoke', { messages: [user(text)], config: { agent } });

  test.serial('a pool registers its own agents with its token, and no other', async (t) => {
    const [threads] = cluster().threads;
    for (const [name, path] of Object.entries(agents)) {
      await using workspace = await makeWorkspace(null, { agent: undefined, agents: { [name]: path } });
      const { SERVICE_CONFIG = '' } = workspace.env;
      const place = { THREADS_ADDRESS: threads?.address ?? '', SERVICE_CONFIG, AGENT_REVISION: revision };
      const other = name === 'support' ? 'billing' : 'support';
      await t.throwsAsync(registerFrom({ ...place, SERVICE_TOKEN: tokenOf(other) }, 'auto'), {
        code: 'PermissionDenied',
      });
      t.is((await registerFrom({ ...place, SERVICE_TOKEN: tokenOf(name) }, 'auto')).length, 1);
    }
  });

  test.serial('workers of pools drive runs of their agents, also after a death, and are refused nothing', async (t) => {
    const before = lines.length;
    await until(async () => (await client().send('GET', '/v1/graph?agent=billing')).status === 200);
    t.is((await invoke('support', 'go')).status, 200);
    const remembered = await invoke('billing', 'remember that the sky is blue');
    t.is(remembered.status, 200, JSON.stringify(remembered.body));
    const [support] = cluster().workers;
    await support?.kill();
    const waiting = invoke('support', 'go');
    await support?.start();
    t.is((await waiting).status, 200);
    t.deepEqual(
      lines.slice(before).filter((line) => line.includes('refused') || line.includes('PermissionDenied')),
      [],
    );
  });

  test.serial('a worker of a pool reads and writes the files of the owners of its runs, with no secret', async (t) => {
    await until(async () => (await client().send('GET', '/v1/graph?agent=archive')).status === 200);
    const url = cluster().urls[0] ?? '';
    const content = [
      { type: 'text', text: 'copy' },
      { type: 'document', file_id: await uploadTo(url, 'quiet words', 'notes.txt') },
    ];
    const messages = [{ role: 'user', content }];
    const { status, body } = await client().send('POST', '/v1/graph/invoke', {
      messages,
      config: { agent: 'archive' },
    });
    t.is(status, 200, JSON.stringify(body));
    const copy = /"file_id":"([^"]+)"/.exec(JSON.stringify(body).split('1 copied')[1] ?? '')?.[1] ?? '';
    const read = await fetch(`${url}/v1/files/${copy}`);
    t.is(await read.text(), 'QUIET WORDS', JSON.stringify(body));
  });

  test.serial('the token of a pool opens nothing else of the three services', async (t) => {
    const [threads, execution] = [cluster().threads[0]?.address ?? '', cluster().executions[0]?.address ?? ''];
    await using record = connect('threads', threads, { token: tokenOf('support') });
    await using api = connect('execution', execution, { token: tokenOf('support') });
    const call = () => within(byLoad(10_000));
    await t.throwsAsync(record.listOpenRuns({ limit: 10 }, call()), { code: 'PermissionDenied' });
    await t.throwsAsync(record.getState({ owner: 'anon', threadId: 't' }, call()), { code: 'PermissionDenied' });
    await t.throwsAsync(api.listAgents({}, call()), { code: 'PermissionDenied' });
    await until(() => lines.some((line) => line.includes('a call of a pool was refused')));
  });
});
