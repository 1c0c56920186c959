import { isCluster } from '../http/shape.ts';
import { makeWorkspace, startStandalone, type StandaloneProcess } from '../servers/standalone.ts';

/** A service of processes of its own, whose address and data outlive them. */
interface Mortal extends AsyncDisposable {
  readonly url: string;
  /** Kills what serves the pages and what runs the graphs: the one process, or the gateway and the worker of a cluster. */
  readonly kill: () => Promise<void>;
  /** Starts again what was killed; resolves once it serves. */
  readonly start: () => Promise<void>;
}

/** Starts the service in the shape that this run of the suite is about. `agent` is a file of `test/agents` without its ending. */
export const openMortal = (agent: string): Promise<Mortal> =>
  isCluster ? openMortalCluster(agent) : openMortalProcess(agent);

async function openMortalProcess(agent: string): Promise<Mortal> {
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(await makeWorkspace(agent));
  const env = { ...workspace.env, HOST: '127.0.0.1' };
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

async function openMortalCluster(agent: string): Promise<Mortal> {
  const { openCluster } = await import('../servers/cluster.ts');
  const cluster = await openCluster({ agent, gateways: 1, threads: 1, executions: 1 });
  const mortals = [...cluster.executions, ...cluster.gateways];
  return {
    url: cluster.urls[0] ?? '',
    kill: async () => {
      await Promise.all(mortals.map(({ kill }) => kill()));
    },
    start: async () => {
      await Promise.all(mortals.map(({ start }) => start()));
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
