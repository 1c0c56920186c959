import { existsSync } from 'node:fs';
import { chown, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runToEnd } from './provision-run.ts';
import { exchange } from './real-probe.ts';
import type { Command, Place, Recipe, RunOptions } from './real-process.ts';
import { createLauncher, privately, type Launcher, type Private } from './real.ts';

export interface Postgres {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password?: string;
  /** Users keep to a schema of their own in it. */
  readonly database: string;
}

const superuser = 'postgres';

/** The first bytes of a session: version 3.0 of the protocol, user and database. */
const startup = (() => {
  const text = Buffer.from(`user\0${superuser}\0database\0${superuser}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(head.length + text.length, 0);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, text]);
})();

export const postgresRecipe: Recipe = {
  server: 'postgres',
  title: 'PostgreSQL',
  portCount: 1,
  // SIGTERM would wait for those who are connected.
  stopSignal: 'SIGINT',
  prepare: async (place) => {
    const { program, data, ports, options } = place;
    const cluster = join(data, 'cluster');
    if (existsSync(join(cluster, 'PG_VERSION'))) await untilUnused(cluster);
    else await makeData(place);
    const settings = {
      listen_addresses: '127.0.0.1',
      port: String(ports[0]),
      unix_socket_directories: '',
      max_connections: '300',
      shared_buffers: '32MB',
      fsync: options.isDurable ? 'on' : 'off',
      // The promise of the record does not depend on what the operator of the server has set.
      synchronous_commit: 'off',
      autovacuum_naptime: '10min',
      ...(options.secured && {
        ssl: 'on',
        ssl_cert_file: 'server.both',
        ssl_key_file: 'server.both',
        ssl_ca_file: 'root.crt',
      }),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return asNobody([join(program, 'postgres'), '-D', cluster, ...args]);
  },
  // While it recovers it answers with an error of this code; one that refuses the probe for another reason is ready.
  isReady: async (port) => !(await exchange(port, startup)).includes('57P03'),
};

/** PostgreSQL does not run as root. Whoever is root runs it as `nobody`, who may enter the folders of root's that lead to its data. */
function asNobody([command, ...args]: [string, ...string[]]): Command {
  if (process.getuid?.() !== 0) return { command, args };
  const person = ['--reuid', String(nobody), '--regid', String(nobody), '--clear-groups'];
  const rights = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override'];
  // A change of the user clears the signal that ties the process to the one that started it.
  return { command: 'setpriv', args: [...person, ...rights, '--pdeathsig', 'KILL', '--', command, ...args] };
}

const nobody = 65_534;

/** The password of the one user there is, where callers have to sign in. */
export const postgresPassword = 'a password';

/** The collation of the database is that of a language: what the record compares by bytes must say so. */
async function makeData({ program, data, options: { secured } }: Place): Promise<void> {
  await ours(data);
  const auth = secured
    ? ['--auth=scram-sha-256', `--pwfile=${await put(data, 'password', `${postgresPassword}\n`)}`]
    : ['--auth=trust'];
  const collation = ['--encoding=UTF8', '--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en-US'];
  const cluster = join(data, 'cluster');
  const { command, args } = asNobody([
    ...[join(program, 'initdb'), '-D', cluster, '--no-sync', `--username=${superuser}`],
    ...auth,
    ...collation,
  ] as [string, ...string[]]);
  await runToEnd(command, args);
  if (!secured) return;
  for (const [name, from] of Object.entries({
    'server.both': secured.keyAndCertificate,
    'root.crt': secured.authorities,
  }))
    await put(cluster, name, await readFile(from));
  await put(cluster, 'pg_hba.conf', 'hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n');
}

/** A file that the server alone may read. @returns its path. */
async function put(folder: string, name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  await ours(path);
  return path;
}

const ours = async (path: string): Promise<void> => {
  if (process.getuid?.() === 0) await chown(path, nobody, nobody);
};

const unusedMs = 10_000;

/** Processes of a server that was killed end by themselves within moments; until then no other starts on its data. */
async function untilUnused(data: string): Promise<void> {
  for (const until = performance.now() + unusedMs; performance.now() < until;) {
    const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
    if (!folders.includes(data)) return;
    await delay(25);
  }
}

const reach = (port: number): Postgres => ({
  host: '127.0.0.1',
  port,
  username: superuser,
  database: superuser,
});

/** The one at `POSTGRES_URL`, else the one that all tests share. */
export const postgres: Launcher<Postgres> = createLauncher({
  recipe: postgresRecipe,
  reach,
  given: {
    variable: 'POSTGRES_URL',
    read: (text) => {
      const { hostname, port, username, password, pathname } = new URL(text);
      return {
        host: hostname,
        port: port === '' ? 5432 : Number(port),
        username: decodeURIComponent(username) || superuser,
        ...(password !== '' && { password: decodeURIComponent(password) }),
        database: decodeURIComponent(pathname.slice(1)) || superuser,
      };
    },
  },
});

/** One of the caller's own, to be killed and restarted: what it acknowledged to a session with `synchronous_commit` is on disk. */
export const privatePostgres = (options: Pick<RunOptions, 'secured'> = {}): Launcher<Private<Postgres>> =>
  privately({ recipe: postgresRecipe, reach, options });
