import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { processEnv } from '@agent-workflow/kit/env';
import { createClient, user, type Client } from '../servers/client.ts';
import { clusterAbsence } from '../servers/cluster-ground.ts';
import { freePorts } from '../servers/real-process.ts';
import { withServer } from '../servers/real-suite.ts';
import { agentAt } from '../servers/standalone.ts';
import { weaviate } from '../servers/weaviate.ts';
import { until } from '../until.ts';
import { byLoad } from '../by-load.ts';

/** A cluster as `npm run cluster` starts it. */
interface Played extends AsyncDisposable {
  readonly client: Client;
  readonly lines: readonly string[];
  /** The command in what it has printed that holds this text. */
  readonly commandWith: (text: string) => string;
}

const script = fileURLToPath(new URL('../servers/cluster-main.ts', import.meta.url));
const few = ['--gateways', '1', '--threads', '1', '--executions', '1', '--level', 'warn'];

async function play(...args: readonly string[]): Promise<Played> {
  const [port = 0] = await freePorts(1);
  const child = spawn(process.execPath, [script, ...few, '--port', String(port), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  try {
    await until(() => child.exitCode !== null || lines.some((line) => line.includes('serves at ')), {
      timeoutMs: 120_000,
    });
    if (child.exitCode !== null) throw new Error(`it ended with ${String(child.exitCode)}: ${lines.join('\n')}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    client: createClient(`http://127.0.0.1:${String(port)}`),
    lines,
    commandWith: (text) => lines.find((line) => line.startsWith('  ') && line.includes(text))?.trim() ?? '',
    [Symbol.asyncDispose]: stop,
  };
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const inShell = async (line: string, cwd?: string): Promise<Ended> =>
  new Promise((resolve) => {
    execFile('sh', ['-c', line], { cwd }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });

interface Described {
  readonly routing: { readonly current: string; readonly ramping?: object };
  readonly revisions: readonly { readonly revision: string; readonly state: string; readonly workers?: number }[];
}

const agentOf = async ({ send }: Client, name: string): Promise<Described> =>
  (await send('GET', `/v1/agents/${name}`)).body.data;

/** Runs a turn in a new thread, and gives the revision that served it. */
async function revisionOfTurn({ send }: Client, agent: string): Promise<string> {
  const { status, body } = await send('POST', '/v1/graph/invoke', { messages: [user('hello')], config: { agent } });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const { run_id } = (body.data as { meta: { run_id: string } }).meta;
  return ((await send('GET', `/v1/runs/${run_id}`)).body.data as { revision: string }).revision;
}

/** A folder with a `service.json` and an agent in a file beside it. */
async function projectOf(t: ExecutionContext, name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'played-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const [file = ''] = agentAt('echo').split(/:graph$/);
  await writeFile(join(folder, 'agent.ts'), `export { graph } from '${file}';\n`);
  await writeFile(join(folder, 'service.json'), JSON.stringify({ agents: { [name]: './agent.ts:graph' } }));
  return folder;
}

const ground = { ...weaviate, absence: () => clusterAbsence() ?? weaviate.absence() };
const suite = (): void =>
  withServer(test, ground, (memories) => {
    test.serial(
      'a cluster to play with ramps to its second revision, and a worker of one’s own joins it',
      async (t) => {
        t.timeout(byLoad(300_000));
        await memories();
        await using cluster = await play();
        const { client, commandWith } = cluster;
        for (const pool of ['default v1', 'echo v1', 'echo v2'])
          t.true(
            cluster.lines.some((line) => line.includes(`${pool} is process `)),
            pool,
          );
        t.is(await revisionOfTurn(client, 'echo'), 'v1');

        const ramp = JSON.parse((await inShell(commandWith('curl -s -X PUT'))).stdout) as { data: Described };
        t.deepEqual(ramp.data.routing.ramping, { revision: 'v2', percent: 50 });
        const seen = new Set<string>();
        await until(async () => seen.add(await revisionOfTurn(client, 'echo')).size === 2);
        t.deepEqual([...seen].toSorted(), ['v1', 'v2']);

        const folder = await projectOf(t, 'echo');
        const registered = await inShell(`${commandWith('agents register')} --routing none`, folder);
        t.is(registered.code, 0, registered.stderr);
        const route = commandWith('agents route').replace('--ramp v2=50', '--current v3');
        const revision = async () => (await agentOf(client, 'echo')).revisions.find((each) => each.revision === 'v3');
        await until(async () => (await revision())?.workers === 0);
        const routed = await inShell(route);
        t.is(routed.code, 0, routed.stderr);
        t.regex(routed.stderr, /^warning: no worker of revision "v3" is there: its runs wait until one comes\n$/);

        const waiting = revisionOfTurn(client, 'echo');
        const worker = spawn('sh', ['-c', `exec ${commandWith('main.ts worker')}`], { cwd: folder, stdio: 'ignore' });
        const ended = once(worker, 'exit');
        try {
          t.is(await waiting, 'v3');
          await until(async () => (await revision())?.workers === 1);
          t.is((await inShell(route)).stderr, '');
        } finally {
          worker.kill('SIGTERM');
          await ended;
        }
      },
    );

    test.serial(
      'with --pools the agents of a service.json are in a pool, and no other process holds them',
      async (t) => {
        t.timeout(byLoad(300_000));
        await memories();
        const folder = await projectOf(t, 'mine');
        await using cluster = await play('--config', join(folder, 'service.json'), '--pools');
        t.true(cluster.lines.some((line) => line.includes('agents v1 is process ')));
        t.is(await revisionOfTurn(cluster.client, 'mine'), 'v1');
        await until(async () => (await agentOf(cluster.client, 'mine')).revisions[0]?.workers === 1);
        t.is((await cluster.client.send('POST', '/v1/graph/invoke', { messages: [user('hello')] })).status, 200);
      },
    );
  });

if (processEnv()['SHAPE'] === 'cluster') suite();
else test.skip('a cluster of processes is tested by `npm run test:cluster`', () => undefined);
