import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { user } from '../servers/client.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';
import { until } from '../until.ts';
import { withFaults } from './suite.ts';

const connections = 200;
const runs = 20;

withFaults(test, () => {
  test.serial(
    'without file descriptors the process lives, connections that stand are served, every run accepted completes, and new connections are taken when others end',
    async (t) => {
      await using workspace = await makeWorkspace('echo');
      await using service = await startStandalone(workspace.env);
      const pid = service.child.pid ?? 0;
      const descriptors = (): number => readdirSync(`/proc/${String(pid)}/fd`).length;
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      t.teardown(() => agent.destroy());
      const send = async (path: string, body?: unknown): Promise<Answer> => sendOver(agent, service.url, path, body);
      const invoke = { messages: [user('hello')], config: { thread_id: 'kept' } };
      t.is((await send('/v1/graph/invoke', invoke)).status, 200);

      const held = descriptors();
      const left = 10;
      execFileSync('prlimit', [`--pid=${String(pid)}`, `--nofile=${String(held + left)}:${String(held + left)}`]);
      const crowd = openCrowd(service.url);
      t.teardown(() => crowd[Symbol.dispose]());
      await until(async () => !(await isServed(service.url)));
      const accepted: string[] = [];
      for (let index = 0; index < runs; index++) {
        t.is((await send('/v1/graph/invoke', invoke)).status, 200);
        const started = await send('/v1/runs', {
          messages: [user('x'.repeat(100_000))],
          config: { thread_id: `run-${String(index)}` },
        });
        t.is(started.status, 202);
        accepted.push((started.body.data as { readonly run_id: string }).run_id);
      }
      t.is((await send('/v1/threads/kept/messages')).status, 200);
      t.is((await send('/readyz')).status, 200);
      t.false(await isServed(service.url), 'there was none all the while');

      crowd[Symbol.dispose]();
      const started = performance.now();
      await until(async () => isServed(service.url));
      const tookMs = Math.round(performance.now() - started);
      const ends = await Promise.all(accepted.map(async (runId) => send(`/v1/runs/${runId}/wait`)));
      t.deepEqual(
        ends.map(({ body }) => (body.data as { meta?: { status: string } } | undefined)?.meta?.status),
        accepted.map(() => 'completed'),
      );
      t.log(
        `${String(held + left)} descriptors, ${String(connections)} more connections asked for: ${String(2 * runs)} of ${String(2 * runs)} runs over the one that stood; a new one was served ${String(tookMs)} ms after others had ended`,
      );
      t.is(await service.stop('SIGTERM'), 0);
    },
  );

  test.serial(
    'a body that comes first when there is no file descriptor is refused, and those after it are read',
    async (t) => {
      await using workspace = await makeWorkspace('echo');
      await using service = await startStandalone(workspace.env);
      const pid = String(service.child.pid ?? 0);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      t.teardown(() => agent.destroy());
      const accept = async (text: string): Promise<number> =>
        (await sendOver(agent, service.url, '/v1/runs', { messages: [user(text)] })).status;
      const long = 'hello '.repeat(30_000);
      const allow = (most: string): void => void execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${most}:`]);
      t.is((await sendOver(agent, service.url, '/readyz')).status, 200);
      allow('3');
      t.is(await accept('hello'), 500);
      t.is(await accept(long), 500);
      allow('1024');
      t.is(await accept(long), 202);
    },
  );
});

/** Whether a connection of its own is taken and answered. */
const isServed = async (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`, { signal: AbortSignal.timeout(500), headers: { connection: 'close' } }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Keeps asking for more connections than there is room for. */
function openCrowd(url: string): Disposable {
  const { port, hostname } = new URL(url);
  const open = new Set<Socket>();
  const fill = (): void => {
    while (open.size < connections) {
      const socket = connect(Number(port), hostname);
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => open.delete(socket));
    }
  };
  fill();
  const refill = setInterval(fill, 20);
  return {
    [Symbol.dispose]: () => {
      clearInterval(refill);
      for (const socket of open) socket.destroy();
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: { readonly data?: unknown };
}

/** Asks over the connection that the agent keeps. */
function sendOver(agent: Agent, url: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request(
      `${url}${path}`,
      { agent, method, headers: { 'content-type': 'application/json' } },
      (reply) => {
        let text = '';
        reply.setEncoding('utf8');
        reply.on('data', (part: string) => (text += part));
        reply.on('end', () => {
          resolve({ status: reply.statusCode ?? 0, body: JSON.parse(text) as Answer['body'] });
        });
      },
    );
    asked.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}
