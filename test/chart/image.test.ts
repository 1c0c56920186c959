import { randomUUID } from 'node:crypto';
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

/** Packages are fetched, or at least unpacked. */
const layoutMs = 300_000;

let opening: Promise<Image> | undefined;
const image = async (): Promise<Image> => (opening ??= openImage());
test.after.always(async () => (await opening?.catch(() => undefined))?.[Symbol.asyncDispose]());

test.serial(
  'the image holds the code and what it needs, and nothing that builds, tests or may be written to',
  async (t) => {
    t.timeout(layoutMs);
    const { folder, size } = await image();
    t.log(size);
    const page = await readFile(join(root, 'deploy/README.md'), 'utf8');
    const stated = Number(/(\d+) MB on top of the base/.exec(page)?.[1]);
    t.true(
      Math.abs(Number(/^\d+/.exec(size)?.[0]) - stated) <= 10,
      `${size}; deploy/README.md says ${String(stated)} MB`,
    );
    const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const names = files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
    for (const unwanted of [
      /^test\//,
      /\.test\.ts$/,
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

test.serial('its Node is the one that package.json pins', async (t) => {
  t.timeout(layoutMs);
  const { run } = await image();
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: { readonly node: string };
  };
  t.deepEqual(await run('--version', {}), { code: 0, output: `v${dependencies.node}\n` });
});

test.serial('the one process serves from the image, as somebody who may write nothing but its data', async (t) => {
  t.timeout(layoutMs);
  const { start, run, makeFolder } = await image();
  await using process = await start('services/standalone/main.ts', {
    DATA_DIR: await makeFolder('data'),
    HOST: '127.0.0.1',
    PORT: '0',
  });
  const output = await invoke(process.listensOn);
  t.regex(output, /12 \* 7 = 84/);
  const PORT = process.listensOn.split(':')[1] ?? '';
  t.is((await run('deploy/health.js', { PORT })).code, 0, 'its health command');
  t.is(await process.stop(), 0);
  t.is((await run('deploy/health.js', { PORT })).code, 1, 'its health command once it is gone');
});

withServer(test, cassandra, (record) => {
  withServer(test, nats, (queue) => {
    withServer(test, redis, (edge) => {
      withServer(test, weaviate, (memories) => {
        test.serial('every process of a cluster serves from the image, and all of them a request', async (t) => {
          t.timeout(layoutMs);
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
          const migrated = await run('services/threads/migrate.ts', stored);
          t.is(migrated.code, 0, migrated.output);
          const health = await freePorts(4);
          const serve = async (main: string, index: number, env: Readonly<Record<string, string>>): Promise<string> => {
            const ports = { GRPC_HOST: '127.0.0.1', GRPC_PORT: '0', HEALTH_PORT: String(health[index]) };
            return opened.use(await start(main, { ...token, ...ports, ...env })).listensOn;
          };
          const threads = await serve('services/threads/main.ts', 0, stored);
          const memory = await serve('services/memory/main.ts', 1, {
            WEAVIATE_URL: (await memories()).url,
            WEAVIATE_PREFIX: `Image${name.slice(-8)}`,
          });
          const runs = {
            THREADS_ADDRESS: threads,
            MEMORY_ADDRESS: memory,
            NATS_URL: (await queue()).url,
            NATS_PREFIX: name,
          };
          const execution = await serve('services/execution/main.ts', 2, { ...runs, ROLE: 'api' });
          await serve('services/execution/main.ts', 3, { ...runs, ROLE: 'worker' });
          for (const port of health)
            t.is((await run('deploy/health.js', { HEALTH_PORT: String(port) })).code, 0, String(port));
          const gateway = await start('gateway/main.ts', {
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
