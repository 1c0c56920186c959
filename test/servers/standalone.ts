import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProcess, type ServiceProcess } from './process.ts';

/** The service as a process of its own: what a user starts. */
export interface StandaloneProcess extends Omit<ServiceProcess, 'listensOn'> {
  readonly url: string;
}

const main = fileURLToPath(import.meta.resolve('@agent-workflow/standalone/main'));

/**
 * Starts the service and waits until it says where it listens. An `entry` of the tests' own can be talked to.
 * @throws Error with what it printed when it ends instead.
 */
export async function startStandalone(
  env: Readonly<Record<string, string>>,
  entry = main,
  through: readonly string[] = [],
): Promise<StandaloneProcess> {
  const options = { entry, env: { PORT: '0', ...env }, talks: entry !== main, through };
  const { listensOn, ...started } = await startProcess(options);
  return { ...started, url: listensOn };
}

/** A folder that holds a `service.json` and data, removed with the test. */
export interface Workspace extends AsyncDisposable {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

const thisVersion = fileURLToPath(new URL('../..', import.meta.url));

/** Makes the folder; `agent` is a file of `test/agents`, without its ending. `service` adds to `service.json`. */
export async function makeWorkspace(
  agent: string | null,
  service: Readonly<Record<string, unknown>> = {},
  root = thisVersion,
): Promise<Workspace> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-'));
  const module = join(root, 'test', 'agents', `${String(agent)}.ts`);
  const config = join(folder, 'service.json');
  await writeFile(config, JSON.stringify({ agent: agent === null ? null : `${module}:graph`, ...service }));
  return {
    folder,
    env: { SERVICE_CONFIG: config, DATA_DIR: join(folder, 'data') },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
