import { isCluster } from '../http/shape.ts';
import { openForwarder } from '../servers/forwarder.ts';
import { makeWorkspace, startStandalone, type StandaloneProcess } from '../servers/standalone.ts';

/** A service of processes of its own, whose address and data outlive them. */
interface Mortal extends AsyncDisposable {
  readonly url: string;
  /** Kills what serves the pages and what runs the graphs: the one process, or the gateway and the worker of a cluster. */
  readonly kill: () => Promise<void>;
  /** Starts again what was killed; resolves once it serves. */
  readonly start: () => Promise<void>;
  /** Kills the gateway that serves, and nothing else: from then on another one answers at the same address. Absent in the one process. */
  readonly killGateway?: () => Promise<void>;
}

type Env = Readonly<Record<string, string>>;

/** Starts the service in the shape that this run of the suite is about. `agent` is a file of `test/agents` without its ending. */
export const openMortal = (agent: string, env: Env = {}): Promise<Mortal> =>
  isCluster ? openMortalCluster(agent, env) : openMortalProcess(agent, env);

async function openMortalProcess(agent: string, more: Env): Promise<Mortal> {
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(await makeWorkspace(agent));
  const env = { ...workspace.env, HOST: '127.0.0.1', ...more };
  const first = await startStandalone(env);
  let running: StandaloneProcess | undefined = first;
  opened.defer(async () => running?.[Symbol.asyncDispose]());
  const everything = opened.move();
  return {
    url: first.url,
    kill: async () => {
      await running?.stop('SIGKILL');
      running = undefined;
    },
    start: async () => {
      running = await startStandalone({ ...env, PORT: new URL(first.url).port });
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

async function openMortalCluster(agent: string, env: Env): Promise<Mortal> {
  const { openCluster } = await import('../servers/cluster.ts');
  await using opened = new AsyncDisposableStack();
  const cluster = opened.use(await openCluster({ agent, gateways: 2, threads: 1, executions: 1, env }));
  const front = opened.use(await openForwarder());
  const { gateways, executions } = cluster;
  const lead = (): void => {
    const serving = gateways.filter(({ isRunning }) => isRunning());
    front.leadTo(serving.slice(0, 1).map(({ address }) => `http://${address}`));
  };
  lead();
  const everything = opened.move();
  return {
    url: front.url,
    kill: async () => {
      await Promise.all([...executions, ...gateways].map(({ kill }) => kill()));
      lead();
    },
    start: async () => {
      const gone = [...executions, ...gateways].filter(({ isRunning }) => !isRunning());
      await Promise.all(gone.map(({ start }) => start()));
      lead();
    },
    killGateway: async () => {
      await gateways.find(({ isRunning }) => isRunning())?.kill();
      lead();
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
