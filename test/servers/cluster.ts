import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingReaders } from '@agent-workflow/runtime/setting-readers';
import {
  openGround,
  openPrivateGround,
  openWholePrivateGround,
  type Ground,
  type PrivateGround,
  type RecordServer,
  type WholePrivateGround,
} from './cluster-ground.ts';
import { createReplica, type Replica, type ReplicaEnd } from './cluster-replica.ts';
import { freePorts } from './real-process.ts';
import { makeWorkspace, type Workspace } from './standalone.ts';

export interface ClusterOptions {
  /** A file of `test/agents` without its ending; `null`: none is configured. */
  readonly agent: string | null;
  readonly gateways?: number;
  readonly threads?: number;
  readonly executions?: number;
  readonly memories?: number;
  /** Worker processes beside the executions, which then only accept and follow runs. */
  readonly workers?: readonly WorkerOptions[];
  /** What every process is told, beside where the others are. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the executions alone are told, beside that. */
  readonly executionEnv?: Readonly<Record<string, string>>;
  /** What holds the record of a cluster on shared servers; Cassandra when absent. */
  readonly record?: RecordServer;
  /** Adds to `service.json`. */
  readonly service?: Readonly<Record<string, unknown>>;
  /**
   * The folder of a project with the packages of an earlier version, and agents written against them below `test/agents`: each process is
   * started of that version, with that project's agent.
   */
  readonly earlier?: string | undefined;
  /** Of servers of its own: Cassandra is compiled as far as one that has run for days. */
  readonly isForMeasuring?: boolean;
  /** Ports of the gateways; free ones where absent. */
  readonly ports?: readonly number[];
  /** Told of every line that a process prints. */
  readonly onLine?: (name: string, line: string) => void;
  /** Called for each process once it has ended. */
  readonly onEnd?: (end: ReplicaEnd) => void;
}

type ServiceOf = Readonly<Record<string, unknown>>;

interface WorkerOptions {
  /** Absent: `worker` and its number. */
  readonly name?: string;
  /** What the worker adds to its own `service.json`; given the root of the version that it is of, where that matters. */
  readonly service: ServiceOf | ((root: string) => ServiceOf);
  readonly env?: Readonly<Record<string, string>>;
}

/** The service as processes of their own, on real servers. */
export interface Cluster extends AsyncDisposable {
  /** Of the gateways. */
  readonly urls: readonly string[];
  readonly gateways: readonly Replica[];
  readonly threads: readonly Replica[];
  readonly executions: readonly Replica[];
  readonly memories: readonly Replica[];
  readonly workers: readonly Replica[];
  /** All of them, in the order in which they are started. */
  readonly replicas: readonly Replica[];
  /** What every process is told, where the others are included. */
  readonly env: Readonly<Record<string, string>>;
}

const kinds = ['threads', 'memory', 'execution', 'gateway'] as const;
type Kind = (typeof kinds)[number];

/** What the processes show each other. */
export const serviceToken = 'known-to-the-processes-of-one-test';

/** Starts a cluster on servers that all tests share. Resolves once every process serves; disposal kills them all. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  await using opened = new AsyncDisposableStack();
  const ground = opened.use(await openGround(options.record));
  const cluster = opened.use(await openClusterOn(ground, options));
  const everything = opened.move();
  return { ...cluster, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

/** The same on servers of its own, which can be made to fail. */
export async function openPrivateCluster(
  options: ClusterOptions,
): Promise<Cluster & { readonly ground: PrivateGround }> {
  await using opened = new AsyncDisposableStack();
  const { isForMeasuring = false } = options;
  const ground = opened.use(await openPrivateGround({ isForMeasuring }));
  const cluster = opened.use(await openClusterOn(ground, options));
  const everything = opened.move();
  return { ...cluster, ground, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

export type WholePrivateCluster = Cluster & { readonly ground: WholePrivateGround };

/** The same with a Weaviate among the servers: the memory service may have several replicas. */
export async function openWholePrivateCluster(options: ClusterOptions): Promise<WholePrivateCluster> {
  await using opened = new AsyncDisposableStack();
  const ground = opened.use(await openWholePrivateGround());
  const cluster = opened.use(await openClusterOn(ground, options));
  const everything = opened.move();
  return { ...cluster, ground, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

async function openClusterOn(ground: Ground, options: ClusterOptions): Promise<Cluster> {
  const { agent, service, gateways = 2, threads = 2, executions = 3, memories = 1 } = options;
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(await makeWorkspace(agent, service));
  const earlier =
    options.earlier === undefined ? undefined : opened.use(await makeWorkspace(agent, service, options.earlier));
  const ports = await portsOf({ threads, memory: memories, execution: executions, gateway: gateways }, options.ports);
  const env = {
    ...{ LOG_LEVEL: 'warn', GRPC_HOST: '127.0.0.1', HOST: '127.0.0.1', SERVICE_TOKEN: serviceToken },
    ...ground.env,
    ...workspace.env,
    ...{ THREADS_ADDRESS: targetOf(ports.threads), EXECUTION_ADDRESS: targetOf(ports.execution) },
    ...{ MEMORY_ADDRESS: targetOf(ports.memory) },
    ...options.env,
    ...(options.workers ? { ROLE: 'api' } : {}),
  };
  const of = Object.fromEntries(
    kinds.map((kind) => [
      kind,
      ports[kind].map((port, index) =>
        opened.use(
          replicaOf({
            ...{ kind, index, port, options, earlierEnv: earlier?.env },
            env: kind === 'execution' ? { ...env, ...options.executionEnv } : env,
          }),
        ),
      ),
    ]),
  ) as unknown as Readonly<Record<Kind, readonly Replica[]>>;
  const workers: Replica[] = [];
  for (const [index, own] of (options.workers ?? []).entries()) {
    const placeOf = async (root: string): Promise<Workspace> =>
      opened.use(await makeWorkspace(agent, typeof own.service === 'function' ? own.service(root) : own.service, root));
    const { env: place } = await placeOf(thisVersion);
    const earlierEnv = options.earlier === undefined ? undefined : (await placeOf(options.earlier)).env;
    const [port = 0] = await freePorts(1);
    const role = { kind: 'execution', index, port, env: { ...env, ...place, ...own.env, ROLE: 'worker' } } as const;
    workers.push(opened.use(replicaOf({ ...role, name: own.name ?? `worker ${index + 1}`, options, earlierEnv })));
  }
  // Who calls others comes after them: a process that finds nobody asks again only a little later.
  await startAll([...of.threads, ...of.memory]);
  await startAll([...of.execution, ...workers, ...of.gateway]);
  const everything = opened.move();
  return {
    ...{ gateways: of.gateway, threads: of.threads, executions: of.execution, memories: of.memory, workers },
    urls: of.gateway.map(({ address }) => `http://${address}`),
    replicas: [...kinds.flatMap((kind) => of[kind]), ...workers],
    env,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

const startAll = async (replicas: readonly Replica[]): Promise<void> => {
  await Promise.all(replicas.map(({ start }) => start()));
};

type Ports = Readonly<Record<Kind, readonly number[]>>;

async function portsOf(counts: Readonly<Record<Kind, number>>, given: readonly number[] = []): Promise<Ports> {
  const free = await freePorts(kinds.reduce((sum, kind) => sum + counts[kind], 0));
  const take = (kind: Kind): number[] => free.splice(0, counts[kind]);
  const [threads, memory, execution, gateway] = kinds.map(take) as [number[], number[], number[], number[]];
  return { threads, memory, execution, gateway: gateway.map((port, index) => given[index] ?? port) };
}

/** Every replica's address, as a client that spreads its calls takes it. */
const targetOf = (ports: readonly number[]): string => `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;

interface Placed {
  readonly kind: Kind;
  readonly index: number;
  /** Absent: that of its kind. */
  readonly name?: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly options: ClusterOptions;
  readonly earlierEnv: Readonly<Record<string, string>> | undefined;
}

function replicaOf({ kind, index, name, port, env, options: { earlier, onLine, onEnd }, earlierEnv }: Placed): Replica {
  return createReplica({
    name: name ?? `${kind} ${index + 1}`,
    address: `127.0.0.1:${port}`,
    entry: join(thisVersion, `${moduleOf(kind)}.ts`),
    env: { ...readBy(kind, env), [kind === 'gateway' ? 'PORT' : 'GRPC_PORT']: String(port) },
    ...(earlier !== undefined && earlierEnv
      ? { earlier: { entry: join(packageIn(earlier), `${moduleOf(kind)}.js`), env: earlierEnv } }
      : {}),
    ...(onLine ? { onLine } : {}),
    ...(onEnd ? { onEnd } : {}),
  });
}

/** Without the settings that only other kinds of processes read: a process warns of those. */
const readBy = (kind: Kind, env: Placed['env']): Placed['env'] =>
  Object.fromEntries(Object.entries(env).filter(([name]) => settingReaders[name]?.includes(kind) ?? true));

const thisVersion = fileURLToPath(new URL('../..', import.meta.url));

/** The package that the processes are in, of a project that has installed it. */
export const packageIn = (folder: string): string => join(folder, 'node_modules', '@agent-workflow', 'server');

const moduleOf = (kind: Kind): string => join(...(kind === 'gateway' ? [kind] : ['services', kind]), 'main');
