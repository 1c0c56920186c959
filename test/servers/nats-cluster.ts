import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { provisioned } from './provisioned.ts';

/** Several NATS servers that are one. */
interface NatsCluster extends AsyncDisposable {
  /** Addresses of all servers, divided by commas. */
  readonly url: string;
  /** Addresses of their monitoring ports, likewise. */
  readonly monitorUrl: string;
  readonly kill: (index: number) => Promise<void>;
  /** With other lines of configuration, if they are given, for this server and all that are started after it. */
  readonly restart: (index: number, lines?: string) => Promise<void>;
}

interface ClusterOptions {
  readonly servers: number;
  /** More lines of each server's configuration, as `authorization { token: "…" }`. */
  readonly lines?: string;
  readonly sync?: string;
  readonly scheme?: 'nats' | 'tls';
}

/** Starts servers that only the caller knows; resolves when they answer. One alone is a cluster of its own. */
export async function openNatsCluster({
  servers,
  lines: given = '',
  sync = '"2m"',
  scheme = 'nats',
}: ClusterOptions): Promise<NatsCluster> {
  const program = provisioned('nats');
  if (program === undefined) throw new Error('NATS is absent: run `npm run servers`');
  const folder = await mkdtemp(join(tmpdir(), 'nats-cluster-'));
  const ports = await freePorts(servers * 3);
  const portsOf = (index: number): readonly number[] => ports.slice(index * 3, index * 3 + 3);
  const routes = Array.from({ length: servers }, (_, index) => `nats://127.0.0.1:${String(portsOf(index)[1])}`);
  const running: (ChildProcess | undefined)[] = [];
  let lines = given;

  const start = async (index: number): Promise<void> => {
    const [port = 0, route = 0, monitor = 0] = portsOf(index);
    const data = join(folder, String(index));
    await mkdir(data, { recursive: true });
    const cluster =
      servers > 1 ? `cluster { name: c, listen: "127.0.0.1:${route}", routes: [${routes.join(', ')}] }` : '';
    const config = join(data, 'server.conf');
    await writeFile(
      config,
      `server_name: n${index}\nlisten: "127.0.0.1:${port}"\nhttp: "127.0.0.1:${monitor}"\n` +
        `jetstream { store_dir: "${data}", sync_interval: ${sync} }\n${cluster}\n${lines}\n`,
    );
    running[index] = spawn(program, ['--config', config], { stdio: 'ignore' });
  };

  const isHealthy = async (index: number): Promise<boolean> => {
    try {
      return (await fetch(`http://127.0.0.1:${String(portsOf(index)[2])}/healthz`)).ok;
    } catch {
      return false;
    }
  };

  const ready = async (index: number): Promise<void> => {
    while (!(await isHealthy(index))) {
      const child = running[index];
      if (child?.exitCode !== null || child.signalCode !== null)
        throw new Error('NATS has ended before it was healthy');
      await pause(50);
    }
  };

  const kill = async (index: number): Promise<void> => {
    const child = running[index];
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };

  const all = Array.from({ length: servers }, (_, index) => index);
  await Promise.all(all.map(start));
  await Promise.all(all.map(ready));
  return {
    url: all.map((index) => `${scheme}://127.0.0.1:${String(portsOf(index)[0])}`).join(),
    monitorUrl: all.map((index) => `http://127.0.0.1:${String(portsOf(index)[2])}`).join(),
    kill,
    restart: async (index, others = lines) => {
      lines = others;
      await start(index);
      await ready(index);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.map(kill));
      await rm(folder, { recursive: true });
    },
  };
}

async function freePorts(count: number): Promise<readonly number[]> {
  const listeners = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = listeners.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(listeners.map((server) => once(server.close(), 'close')));
  return ports;
}
