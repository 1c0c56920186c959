import { randomUUID } from 'node:crypto';
import { globSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import test from 'ava';
import { cassandra } from '../servers/cassandra.ts';
import { nats } from '../servers/nats.ts';
import { until } from '../until.ts';
import { withServer } from '../servers/real-suite.ts';
import { redis } from '../servers/redis.ts';
import { weaviate } from '../servers/weaviate.ts';
import { openImage, type Image } from './image.ts';
import { root } from './root.ts';
import { addContainerfile, addTeam } from './team.ts';
import { byLoad } from '../by-load.ts';

/** Packages are fetched, or at least unpacked. */
const layoutMs = 300_000;

let opening: Promise<Image> | undefined;
const image = async (): Promise<Image> => (opening ??= openImage());
test.after.always(async () => (await opening?.catch(() => undefined))?.[Symbol.asyncDispose]());

test.serial(
  'the image holds the code and what it needs, and nothing that builds, tests or may be written to',
  async (t) => {
    t.timeout(byLoad(layoutMs));
    const { folder, size } = await image();
    t.log(size);
    const page = await readFile(join(root, 'deploy/guide/image.md'), 'utf8');
    const stated = Number(/(\d+) MB on top of the base/.exec(page)?.[1]);
    t.true(
      Math.abs(Number(/^\d+/.exec(size)?.[0]) - stated) <= 10,
      `${size}; deploy/guide/image.md says ${String(stated)} MB`,
    );
    const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const names = files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
    for (const unwanted of [
      /^test\//,
      /(?<!\/init\/template\/agent)\.test\.[jt]s$/,
      /node_modules\/(ava|typescript|eslint|prettier|npm)\//,
      /\.node-gyp/,
    ])
      t.deepEqual(
        names.filter((name) => unwanted.test(name)),
        [],
        unwanted.source,
      );
    const modes = await Promise.all(
      files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).mode),
    );
    t.true(modes.every((mode) => (mode & 0o222) === 0));
  },
);

test.serial(
  'its packages are those of the lock, byte by byte, and ours are installed from their tarballs',
  async (t) => {
    t.timeout(byLoad(layoutMs));
    const { folder } = await image();
    const locked = await readPackages(join(root, 'package-lock.json'));
    const ours: string[] = [];
    for (const [path, { version, integrity, resolved }] of await readPackages(
      join(folder, 'node_modules/.package-lock.json'),
    )) {
      if (path.startsWith('node_modules/@agent-workflow/')) ours.push(resolved ?? '');
      else t.like(locked.get(path), { version, integrity }, path);
    }
    t.deepEqual(
      ours.map((from) => /^file:packages\/agent-workflow-(\w+)-[\d.]+\.tgz$/.exec(from)?.[1]),
      ['auth', 'graph', 'server'],
    );
  },
);

test.serial('it has what charts, jobs and service files name, by its name in the tree, too', async (t) => {
  t.timeout(byLoad(layoutMs));
  const { folder } = await image();
  const golden = await Promise.all(
    globSync('test/chart/golden/*.yaml', { cwd: root }).map((file) => readFile(join(root, file), 'utf8')),
  );
  const inCharts = new Set(golden.flatMap((text) => text.match(/(?:services|gateway)\/[\w/-]+\.[jt]s/g) ?? []));
  t.deepEqual([...inCharts].toSorted(), [
    ...['gateway/main.js', 'services/command/init/template/agent.js', 'services/execution/main.js'],
    ...['services/memory/main.js', 'services/standalone/main.js', 'services/threads/main.js'],
    'services/threads/migrate.js',
  ]);
  const ofOperators = ['export', 'import', 'reindex'].map((name) => `services/memory/${name}.js`);
  for (const path of [...inCharts, ...ofOperators])
    for (const named of [path, path.replace(/js$/, 'ts')]) t.true((await stat(join(folder, named))).isFile(), named);
});

test.serial('its Node is the one that package.json pins', async (t) => {
  t.timeout(byLoad(layoutMs));
  const { run } = await image();
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: { readonly node: string };
  };
  t.deepEqual(await run('--version', {}), { code: 0, output: `v${dependencies.node}\n` });
});

test.serial('the one process serves from the image, as somebody who may write nothing but its data', async (t) => {
  t.timeout(byLoad(layoutMs));
  const { start, run, makeFolder } = await image();
  const began = performance.now();
  await using process = await start('services/standalone/main.js', {
    DATA_DIR: await makeFolder('data'),
    HOST: '127.0.0.1',
    PORT: '0',
  });
  t.log(`it listens after ${(performance.now() - began).toFixed(0)} ms`);
  const output = await invoke(process.listensOn);
  t.regex(output, /12 \* 7 = 84/);
  for (const path of [
    '/docs',
    '/docs/threads',
    '/docs/authors',
    '/docs/assets/docs.css',
    '/docs/api',
    '/docs/api/threads',
    '/favicon.ico',
  ])
    t.is((await fetch(`http://${process.listensOn}${path}`)).status, 200, path);
  const PORT = process.listensOn.split(':')[1] ?? '';
  t.is((await run('deploy/health.js', { PORT })).code, 0, 'its health command');
  t.is(await process.stop(), 0);
  t.is((await run('deploy/health.js', { PORT })).code, 1, 'its health command once it is gone');
});

test.serial('it brings the code that its processes compile at their start', async (t) => {
  t.timeout(byLoad(layoutMs));
  const { run } = await image();
  for (const part of ['gateway', 'services/threads', 'services/execution', 'services/memory', 'services/standalone']) {
    // It ends once it has loaded what it serves with.
    const refused = { MEMORY_BUDGET_MB: '300', PORT: 'none', GRPC_PORT: 'none', NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
    const { code, output } = await run(`${part}/main.js`, refused);
    t.is(code, 1, output);
    t.true((output.match(/ was accepted,/g) ?? []).length > 20, part);
    t.notRegex(output, / was rejected,|no such file/, part);
  }
});

for (const { name, library, brings } of [
  { name: 'the library of the image', library: '@agent-workflow/execution/graph', brings: false },
  { name: 'a copy of the library of its own', library: '@agent-workflow/graph', brings: true },
])
  test.serial(`the image serves the agent of a team with a package of its own and ${name}`, async (t) => {
    t.timeout(byLoad(layoutMs));
    const opened = await image();
    const folder = brings ? 'bringing' : 'sharing';
    const service = await addTeam(opened, folder, {
      agent: teamAgent(library),
      auth: teamAuth,
      dependencies: { yaml: '2.9.1', ...(brings && { '@agent-workflow/graph': graphTarball(opened) }) },
    });
    await t.throwsAsync(stat(join(opened.folder, 'node_modules/yaml')), { code: 'ENOENT' }, 'the image has it not');
    const copy = stat(join(opened.folder, 'agents', folder, 'node_modules/@agent-workflow/graph'));
    t.is(await copy.then(() => true).catch(() => false), brings);
    await using process = await opened.start('services/standalone/main.js', {
      DATA_DIR: await opened.makeFolder(`${folder}-data`),
      SERVICE_CONFIG: service,
      HOST: '127.0.0.1',
      PORT: '0',
    });
    t.regex(await invoke(process.listensOn), /the answer is 42/);
    t.is(await process.stop(), 0);
  });

test.serial('the image serves the agent that the Containerfile of deploy/team puts on top of it', async (t) => {
  t.timeout(byLoad(layoutMs));
  const opened = await image();
  const env = await addContainerfile(opened, join(root, 'deploy/team/Containerfile'));
  const command = 'node_modules/.bin/agent-workflow';
  const listed = await opened.run(`${command} agents`, env);
  t.is(listed.code, 0, listed.output);
  t.regex(listed.output, /support/);
  await using process = await opened.start('services/standalone/main.js', {
    ...env,
    DATA_DIR: await opened.makeFolder('thin-data'),
    HOST: '127.0.0.1',
    PORT: '0',
  });
  t.regex(await invoke(process.listensOn), /The support team has your message\./);
  t.is(await process.stop(), 0);
});

const graphTarball = ({ tarballs }: Image): string =>
  `file:${globSync(join(tarballs, 'agent-workflow-graph-*.tgz'))[0] ?? ''}`;

const teamAgent = (library: string): string => `
import { END, START, StateGraph } from '${library}';
import { parse } from 'yaml';

const answer: unknown = parse('answer: 42').answer;

export const graph = new StateGraph({})
  .addNode('say', (_state, { emit }) => emit('the answer is ' + String(answer)))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();
`;

const teamAuth = `
import { BaseAuth, type AuthRequest } from '@agent-workflow/gateway/auth';

export class Auth extends BaseAuth {
  override async authenticate(_request: AuthRequest) {
    return { user_id: 'ada' };
  }
}
`;

withServer(test, cassandra, (record) => {
  withServer(test, nats, (queue) => {
    withServer(test, redis, (edge) => {
      withServer(test, weaviate, (memories) => {
        test.serial('every process of a cluster serves from the image, and all of them a request', async (t) => {
          t.timeout(byLoad(layoutMs));
          const { start, run } = await image();
          await using opened = new AsyncDisposableStack();
          const name = `image_${randomUUID().replaceAll('-', '')}`;
          const { contactPoints, localDataCenter } = await record();
          const token = { SERVICE_TOKEN: randomUUID() };
          const stored = {
            CASSANDRA_CONTACT_POINTS: contactPoints.join(','),
            CASSANDRA_LOCAL_DATACENTER: localDataCenter,
            CASSANDRA_KEYSPACE: name.slice(0, 48),
            CASSANDRA_REPLICATION: '1',
          };
          const migrated = await run('services/threads/migrate.js', stored);
          t.is(migrated.code, 0, migrated.output);
          const health = await freePorts(4);
          const serve = async (main: string, index: number, env: Readonly<Record<string, string>>): Promise<string> => {
            const ports = { GRPC_HOST: '127.0.0.1', GRPC_PORT: '0', HEALTH_PORT: String(health[index]) };
            return opened.use(await start(main, { ...token, ...ports, ...env })).listensOn;
          };
          const threads = await serve('services/threads/main.js', 0, stored);
          const memory = await serve('services/memory/main.js', 1, {
            WEAVIATE_URL: (await memories()).url,
            WEAVIATE_PREFIX: `Image${name.slice(-8)}`,
          });
          const runs = {
            THREADS_ADDRESS: threads,
            MEMORY_ADDRESS: memory,
            NATS_URL: (await queue()).url,
            NATS_PREFIX: name,
          };
          const execution = await serve('services/execution/main.js', 2, { ...runs, ROLE: 'api' });
          await serve('services/execution/main.js', 3, { ...runs, ROLE: 'worker' });
          for (const port of health)
            t.is((await run('deploy/health.js', { HEALTH_PORT: String(port) })).code, 0, String(port));
          const gateway = await start('gateway/main.js', {
            ...token,
            ...{ HOST: '127.0.0.1', PORT: '0', REDIS_URL: (await edge()).url, REDIS_KEY_PREFIX: `${name}:` },
            ...{ THREADS_ADDRESS: threads, MEMORY_ADDRESS: memory, EXECUTION_ADDRESS: execution },
          });
          opened.use(gateway);
          await until(() => isWhole(gateway.listensOn));
          t.regex(await invoke(gateway.listensOn), /12 \* 7 = 84/);
          t.is(await gateway.stop(), 0);
        });
      });
    });
  });
});

const invoke = async (address: string): Promise<string> => {
  const answer = await fetch(`http://${address}/v1/graph/invoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'What is 12 * 7?' }] }),
  });
  return answer.text();
};

/** The packages of a lock of npm: path → what is said about it. */
async function readPackages(lock: string): Promise<ReadonlyMap<string, Locked>> {
  const { packages } = JSON.parse(await readFile(lock, 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  return new Map(Object.entries(packages));
}

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
}

/** Whether the gateway reaches everything that it needs. */
async function isWhole(address: string): Promise<boolean> {
  const reply = await fetch(`http://${address}/readyz`);
  const { data } = (await reply.json()) as { readonly data?: { readonly degraded?: readonly unknown[] } };
  return reply.status === 200 && data?.degraded?.length === 0;
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map(async (server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports;
}
