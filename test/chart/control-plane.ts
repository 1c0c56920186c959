import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onPath, provisioned } from '../servers/provisioned.ts';
import type { Launcher } from '../servers/real.ts';
import { createKubeApi, type KubeApi } from './kube-api.ts';
import { absenceOf } from './tools.ts';

/** A Kubernetes of its own: the real API with its controllers and its scheduler, and nodes that are played. */
export interface ControlPlane {
  /** As whoever may do everything. */
  readonly api: KubeApi;
  /** Writes a kubeconfig for a user of these groups, and names the file. */
  readonly configFor: (user: User) => string;
}

/** Whom the API knows. */
type User = 'admin' | 'installer';

export const kubernetes: Launcher<ControlPlane> = {
  title: 'Kubernetes',
  absence: () => absenceOf('kubernetes', 'helm', 'helm3', 'apis'),
  open: openControlPlane,
};

async function openControlPlane(): Promise<ControlPlane & AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const programs = provisioned('kubernetes') ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-kubernetes-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const start = async (name: string, args: readonly string[]): Promise<void> =>
    void opened.use(await startProgram({ folder, program: join(programs, name), name, args }));
  const [client, peer, secure, managed, scheduled] = (await freePorts(5)) as [number, number, number, number, number];
  const tokens = { admin: randomUUID(), installer: randomUUID() };
  await writeFile(join(folder, 'tokens.csv'), toCsv(tokens));
  await writeFile(join(folder, 'accounts.key'), accountsKey());

  const etcd = `http://127.0.0.1:${client}`;
  const server = `https://127.0.0.1:${secure}`;
  await start('etcd', etcdArgs({ folder, etcd, peer: `http://127.0.0.1:${peer}` }));
  await start('kube-apiserver', apiArgs({ folder, etcd, port: secure }));
  const configs = Object.fromEntries(
    await Promise.all(
      Object.entries(tokens).map(async ([user, token]) => {
        const file = join(folder, `${user}.kubeconfig`);
        await writeFile(file, kubeconfig(server, token));
        return [user, file] as const;
      }),
    ),
  ) as Readonly<Record<User, string>>;
  const api = createKubeApi({ server, token: tokens.admin });
  await until('the API is ready', async () => (await api.text('/readyz')) === 'ok', folder);

  const controllers = ['--leader-elect=false', `--kubeconfig=${configs.admin}`, '--bind-address=127.0.0.1'];
  await start('kube-controller-manager', [
    ...controllers,
    `--secure-port=${managed}`,
    `--cert-dir=${join(folder, 'controllers')}`,
    `--service-account-private-key-file=${join(folder, 'accounts.key')}`,
    `--root-ca-file=${join(folder, 'certificates/apiserver.crt')}`,
  ]);
  await start('kube-scheduler', [
    ...controllers,
    `--secure-port=${scheduled}`,
    `--cert-dir=${join(folder, 'scheduler')}`,
  ]);
  await start('kwok', [
    `--kubeconfig=${configs.admin}`,
    '--manage-all-nodes=true',
    `--config=${join(programs, 'stages.yaml')}`,
    '--cidr=10.244.0.0/16',
    '--node-ip=127.0.0.1',
  ]);
  for (const zone of ['a', 'b', 'c']) await api.create('/api/v1/nodes', node(zone));
  const everything = opened.move();
  return { api, configFor: (user) => configs[user], [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

const etcdArgs = ({ folder, etcd, peer }: Readonly<Record<'folder' | 'etcd' | 'peer', string>>): string[] => [
  `--data-dir=${join(folder, 'etcd')}`,
  `--listen-client-urls=${etcd}`,
  `--advertise-client-urls=${etcd}`,
  `--listen-peer-urls=${peer}`,
  `--initial-advertise-peer-urls=${peer}`,
  `--initial-cluster=default=${peer}`,
  '--unsafe-no-fsync',
];

const apiArgs = ({ folder, etcd, port }: { folder: string; etcd: string; port: number }): string[] => [
  `--etcd-servers=${etcd}`,
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  `--secure-port=${port}`,
  `--cert-dir=${join(folder, 'certificates')}`,
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${join(folder, 'accounts.key')}`,
  `--service-account-signing-key-file=${join(folder, 'accounts.key')}`,
  '--service-cluster-ip-range=10.0.0.0/20',
  '--authorization-mode=RBAC',
  `--token-auth-file=${join(folder, 'tokens.csv')}`,
  '--endpoint-reconciler-type=none',
  '--profiling=false',
];

const toCsv = (tokens: Readonly<Record<User, string>>): string =>
  `${tokens.admin},admin,admin,"system:masters"\n${tokens.installer},installer,installer\n`;

const accountsKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();

const kubeconfig = (server: string, token: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  });

const room = { cpu: '32', memory: '256Gi', pods: '110' };

const node = (zone: string): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: `node-${zone}`,
    labels: { 'kubernetes.io/hostname': `node-${zone}`, 'topology.kubernetes.io/zone': zone },
  },
  status: { capacity: room, allocatable: room },
});

interface Program {
  readonly folder: string;
  readonly program: string;
  readonly name: string;
  readonly args: readonly string[];
}

/** Disposal kills it: what it leaves is removed with the folder. Where the system can, it goes with us, however we end. */
async function startProgram({ folder, program, name, args }: Program): Promise<AsyncDisposable> {
  const setpriv = onPath('setpriv');
  const command = setpriv === undefined ? [program] : [setpriv, '--pdeathsig', 'KILL', '--', program];
  await using log = await open(logOf(folder, name), 'a');
  const child = spawn(command[0] as string, [...command.slice(1), ...args], {
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: ['ignore', log.fd, log.fd],
  });
  await once(child, 'spawn');
  return { [Symbol.asyncDispose]: () => killed(child) };
}

const logOf = (folder: string, name: string): string => join(folder, `${name}.log`);

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

const startMs = 60_000;

/** @throws Error with what the API printed last. */
async function until(what: string, isSo: () => Promise<boolean>, folder: string): Promise<void> {
  const deadline = performance.now() + startMs;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > deadline) {
      const printed = await readFile(logOf(folder, 'kube-apiserver'), 'utf8');
      throw new Error(`not so after ${startMs / 1000} s: ${what}\n${printed.slice(-3000)}`);
    }
    await delay(50);
  }
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map(async (server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports;
}
