import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { startProcess, type ServiceProcess } from '../servers/process.ts';
import { makeWorkspace, startStandalone } from '../servers/standalone.ts';

type Started = Pick<ServiceProcess, 'lines'> & AsyncDisposable;

const secret = { JWT_SECRET_KEY: 'a secret that is long enough for the hash of 256 bits', JWT_ALGORITHM: 'HS256' };

/** A single process where callers sign in. */
async function secured(t: ExecutionContext, env: Readonly<Record<string, string>>): Promise<Started> {
  const workspace = await makeWorkspace('echo', { auth: 'jwt' });
  t.teardown(() => workspace[Symbol.asyncDispose]());
  return startStandalone({ ...workspace.env, ...secret, METRICS_PORT: '0', ...env });
}

/** The memory service of a cluster. */
async function memory(t: ExecutionContext, env: Readonly<Record<string, string>>): Promise<Started> {
  const workspace = await makeWorkspace(null);
  t.teardown(() => workspace[Symbol.asyncDispose]());
  const entry = fileURLToPath(import.meta.resolve('@agent-workflow/memory/main'));
  const own = { SERVICE_TOKEN: 'token', GRPC_PORT: '0', METRICS_PORT: '0' };
  return startProcess({ entry, env: { ...workspace.env, ...own, ...env } });
}

const lineOf = ({ lines }: Started): string => lines.find((line) => line.startsWith('metrics are at ')) ?? '';
const portOf = (started: Started): number => Number(new URL(lineOf(started).split(' ')[3] ?? '').port);

/** Whether somebody listens at another address of the loopback than 127.0.0.1: who does, listens on all interfaces. */
async function isOpen(started: Started): Promise<boolean> {
  const socket = connect(portOf(started), '127.0.0.2');
  const outcome = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return outcome;
}

const isReady = async (started: Started): Promise<boolean> =>
  (await fetch(`http://127.0.0.1:${String(portOf(started))}/readyz`)).status === 200;

const open = ' on all interfaces, without authentication';

for (const [what, start, env] of [
  ['a process whose HOST is a loopback address', secured, { HOST: '127.0.0.1' }],
  ['a service whose GRPC_HOST is a loopback address', memory, { GRPC_HOST: '127.0.0.1' }],
] as const) {
  test(`${what} shows its metrics there and nowhere else`, async (t) => {
    await using started = await start(t, env);
    t.is(lineOf(started), `metrics are at http://127.0.0.1:${String(portOf(started))}/metrics`);
    t.true(await isReady(started));
    t.false(await isOpen(started));
  });

  test(`${what} shows them to others where METRICS_HOST says so, and its line says that too`, async (t) => {
    await using started = await start(t, { ...env, METRICS_HOST: '0.0.0.0' });
    t.is(lineOf(started), `metrics are at http://0.0.0.0:${String(portOf(started))}/metrics${open}`);
    t.true(await isReady(started));
    t.true(await isOpen(started));
  });
}

for (const [what, start] of [
  ['a process where callers sign in', secured],
  ['a service of a cluster', memory],
] as const)
  test(`${what} shows metrics to probes on all interfaces where nothing else is set, and says so`, async (t) => {
    await using started = await start(t, { HOST: '0.0.0.0', GRPC_HOST: '0.0.0.0' });
    t.true(lineOf(started).endsWith(open), lineOf(started));
    t.true(await isOpen(started));
  });
