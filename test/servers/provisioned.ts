import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { processEnv } from '@agent-workflow/kit/env';

/** What is started is exactly what was tried: a newer one is a change of its own. */
export const versions = {
  cassandra: '5.0.9',
  nats: '2.15.2',
  versitygw: '1.8.0',
  weaviate: '1.38.6',
  helm: '4.3.1',
  helm3: '3.22.0',
  kubeconform: '0.8.0',
  apis: '1.36.3-keda2.21.0-gateway1.6.3-prometheus0.85.0-certificates1.21.2',
  kubernetes: '1.36.3',
  generators: 'oapi2.8.2-python0.26.2-redocly2.12.0',
} as const;

/** What is started for tests, and run by a supervisor. */
export type ServerName = 'redis' | 'postgres' | 'nats' | 'cassandra' | 'versitygw' | 'weaviate';

/**
 * What the charts are tried with: two Helms, kubeconform, the API descriptions of Kubernetes and of what extends it, and the
 * programs of a control plane. And what the description of the interface is tried with: a linter, and generators of clients.
 */
export type ToolName = 'helm' | 'helm3' | 'kubeconform' | 'apis' | 'kubernetes' | 'generators';

/** Everything that `npm run servers` fetches or builds, and nothing else: the folder can be removed at any time. */
export function serversFolder(): string {
  const { XDG_CACHE_HOME = '' } = processEnv();
  const caches = XDG_CACHE_HOME === '' ? join(homedir(), '.cache') : XDG_CACHE_HOME;
  return join(caches, 'agent-workflow-service', 'servers');
}

/** The folder of a version; it is there whole or not at all. */
export const folderOf = (server: keyof typeof versions): string =>
  join(serversFolder(), `${server}-${versions[server]}`);

/** What is run: a program, Cassandra's folder of jars, PostgreSQL's of programs, or the folder of several; `undefined` when there is none. */
export function provisioned(server: ServerName | ToolName): string | undefined {
  switch (server) {
    case 'redis':
      return onPath('redis-server');
    case 'postgres':
      return postgresPrograms();
    case 'cassandra':
      return onPath('java') === undefined ? undefined : existing(join(folderOf(server), 'lib'));
    case 'nats':
      return existing(join(folderOf(server), 'nats-server'));
    case 'versitygw':
      return existing(join(folderOf(server), 'versitygw'));
    case 'weaviate':
      return existing(join(folderOf(server), 'weaviate-server'));
    case 'helm':
      return existing(join(folderOf(server), 'helm'));
    case 'helm3':
      return existing(join(folderOf(server), 'helm'));
    case 'kubeconform':
      return existing(join(folderOf(server), 'kubeconform'));
    case 'apis':
    case 'kubernetes':
    case 'generators':
      return existing(folderOf(server));
  }
}

/** Debian keeps the programs of each version in a folder of its own, beside the PATH; `pg_ctlcluster` tells a Debian. */
const debianFolder = '/usr/lib/postgresql';

/**
 * The same, for whoever is about to use it. Tests (ava sets `NODE_ENV`) use what was provisioned only where `REQUIRE_SERVERS=1` asks for it: that some earlier run left
 * servers behind makes no test slower.
 */
export function usable(server: ServerName | ToolName): string | undefined {
  const { NODE_ENV, REQUIRE_SERVERS } = processEnv();
  return NODE_ENV === 'test' && REQUIRE_SERVERS !== '1' ? undefined : provisioned(server);
}

/** The folder of the newest programs; `initdb` and `postgres` stand beside each other. As root they need `setpriv` to run. */
function postgresPrograms(): string | undefined {
  if (process.getuid?.() === 0 && onPath('setpriv') === undefined) return undefined;
  const isDebian = onPath('pg_ctlcluster') !== undefined && existsSync(debianFolder);
  const versions = isDebian ? readdirSync(debianFolder).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(debianFolder, version, 'bin')), ...pathFolders()];
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => isProgram(join(folder, name))));
}

/** The program that a shell would run. */
export function onPath(program: string): string | undefined {
  return pathFolders()
    .map((folder) => join(folder, program))
    .find(isProgram);
}

const pathFolders = (): string[] => (processEnv()['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');

const existing = (path: string): string | undefined => (existsSync(path) ? path : undefined);

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
