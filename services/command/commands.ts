import { parseArgs, type ParseArgsConfig } from 'node:util';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A command of `agent-workflow`. */
interface Command {
  /** What comes after the name in its line of the help. */
  readonly usage: string;
  /** What it does, in one line. */
  readonly summary: string;
  readonly options: NonNullable<ParseArgsConfig['options']>;
  /** How many arguments it takes at most. */
  readonly arguments: number;
  /** @returns the exit code; `undefined` when the process sets its own. */
  readonly run: (given: Given) => Promise<number | undefined>;
}

interface Given {
  readonly positionals: readonly string[];
  readonly flags: Readonly<Record<string, unknown>>;
}

const none = { options: {}, arguments: 0 } as const;

const commands: Readonly<Record<string, Command>> = {
  init: {
    usage: '[folder] [--js]',
    summary: 'Writes a new project: an agent with a tool, its test, and what it takes to run and deploy it',
    options: { js: { type: 'boolean' } },
    arguments: 1,
    run: async ({ positionals: [folder = '.'], flags }) => {
      const { init } = await import('./init/init.ts');
      const language = flags['js'] === true ? 'js' : 'ts';
      return init(folder, { language, version: version(), clone: cloneFolder(), tarballs: tarballsFolder() });
    },
  },
  dev: {
    usage: '',
    summary: 'Serves the agent of this folder and starts over when a file is saved; threads and runs stay',
    ...none,
    run: async () => {
      const { dev } = await import('./dev/dev.ts');
      return dev();
    },
  },
  check: {
    usage: '[--schema]',
    summary: 'Loads the agents, draws their graphs, and says what would stop a start',
    options: { schema: { type: 'boolean' } },
    arguments: 0,
    run: async ({ flags }) => {
      const { check } = await import('./check.ts');
      return check({ schema: flags['schema'] === true });
    },
  },
  start: {
    usage: '[standalone | gateway | threads | execution | memory]',
    summary: 'Serves everything in one process, or one process of a cluster',
    options: {},
    arguments: 1,
    run: async ({ positionals: [name = 'standalone'] }) => {
      const { processNames, start } = await import('./start.ts');
      const known = processNames.find((each) => each === name);
      if (known === undefined) return refuse(`there is no process "${name}": use one of ${processNames.join(', ')}`);
      await start(known);
      return undefined;
    },
  },
  worker: {
    usage: '',
    summary: 'Drives runs of a cluster and takes no requests',
    ...none,
    run: async () => {
      const { startWorker } = await import('./start.ts');
      await startWorker();
      return undefined;
    },
  },
  migrate: {
    usage: '',
    summary: "Brings the schema of the cluster's thread store up to this release",
    ...none,
    run: async () => {
      await import('@agent-workflow/threads/migrate');
      return undefined;
    },
  },
  agents: {
    usage:
      '[register [--routing auto | none]] | route <agent> [--current <revision>] [--ramp <revision>=<percent>]; both [--url <gateway>] [--token-file <file>]',
    summary:
      'Lists the agents of this folder with their nodes and tools; registers them with a cluster; or says at a gateway which revisions of an agent serve new runs',
    options: {
      routing: { type: 'string' },
      current: { type: 'string' },
      ramp: { type: 'string' },
      url: { type: 'string' },
      'token-file': { type: 'string' },
    },
    arguments: 2,
    run: runAgents,
  },
  keys: {
    usage:
      'create --user <id> --scopes <resource:action>,… [--roles <role>,…] [--expires <90d>] [--name <text>] | list | revoke <id>',
    summary:
      'Makes an API key and prints it, which nobody can again; lists the keys; or revokes one, within five seconds. A key ends after 90 days unless --expires says another time, 3650d at most; --user is the id as the service knows it, with the prefix of its issuer. With THREADS_ADDRESS those of a cluster, else those in DATA_DIR',
    options: {
      user: { type: 'string' },
      scopes: { type: 'string' },
      roles: { type: 'string', default: '' },
      expires: { type: 'string', default: '90d' },
      name: { type: 'string', default: '' },
    },
    arguments: 2,
    run: runKeys,
  },
  'nats-permissions': {
    usage:
      '--agent <name> [--revision <revision>] [--account <name>] [--inbox-prefix <NATS_INBOX_PREFIX>] | --pool <account>=<agent>[@<revision>],… [--service-account <name>] [--prefix <NATS_PREFIX>]',
    summary:
      "Prints NATS permissions: with --agent those of one pool's user, or of its account with --account; with --pool all accounts, the service's included. --agent, --revision and --pool may be repeated",
    options: {
      agent: { type: 'string', multiple: true, default: [] },
      revision: { type: 'string', multiple: true, default: [] },
      prefix: { type: 'string', default: '' },
      'inbox-prefix': { type: 'string' },
      account: { type: 'string' },
      pool: { type: 'string', multiple: true, default: [] },
      'service-account': { type: 'string', default: 'SERVICE' },
    },
    arguments: 0,
    run: async ({ flags }) => {
      const { natsPermissions } = await import('./nats-permissions.ts');
      const inboxPrefix = flags['inbox-prefix'] as string | undefined;
      return natsPermissions({
        agents: flags['agent'] as readonly string[],
        revisions: flags['revision'] as readonly string[],
        ...{ prefix: flags['prefix'] as string, inboxPrefix },
        account: flags['account'] as string | undefined,
        pools: flags['pool'] as readonly string[],
        serviceAccount: flags['service-account'] as string,
      });
    },
  },
};

async function runAgents({ positionals: [act, agent], flags }: Given): Promise<number> {
  const textOf = (name: string): string | undefined => flags[name] as string | undefined;
  const [url, tokenFile] = [textOf('url'), textOf('token-file')];
  if (url !== undefined && !isAddress(url))
    return refuse('--url must be the address of a gateway, as http://127.0.0.1:8000, without a user', 'agents');
  if (act === 'route') {
    const { route } = await import('./route.ts');
    if (agent === undefined) return refuse('route must be followed by the name of an agent', 'agents');
    const [current, ramp] = [textOf('current'), textOf('ramp')];
    if (current === undefined && ramp === undefined)
      return refuse('route must be given --current, --ramp or both', 'agents');
    return route({ agent, current, ramp, url: url ?? 'http://127.0.0.1:8000', tokenFile });
  }
  const { routing = 'auto' } = flags;
  const { agents, register } = await import('./check.ts');
  if (act === undefined) return agents();
  if (act !== 'register') return refuse(`unknown command "agents ${act}": use register or route`, 'agents');
  if (agent !== undefined) return refuse(`"${agent}" is one argument too many`, 'agents');
  if (routing !== 'auto' && routing !== 'none') return refuse('--routing must be auto or none', 'agents');
  return register(routing, url === undefined ? undefined : { url, tokenFile });
}

async function runKeys({ positionals: [act, id, ...rest], flags }: Given): Promise<number> {
  const textOf = (name: string): string => (flags[name] as string | undefined) ?? '';
  const { createKey, printKeys, removeKey } = await import('./keys.ts');
  if (act === 'revoke' && id !== undefined) return removeKey(id);
  if (act === 'revoke') return refuse('revoke must be followed by the id of a key', 'keys');
  if (id !== undefined) return refuse(`"${[id, ...rest].join(' ')}" is one argument too many`, 'keys');
  if (act === 'list') return printKeys();
  if (act !== 'create') return refuse('use create, list or revoke', 'keys');
  const [user, scopes] = [flags['user'], flags['scopes']] as readonly (string | undefined)[];
  return createKey({ user, scopes, roles: textOf('roles'), expires: textOf('expires'), name: textOf('name') });
}

function isAddress(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username === '' && password === '';
}

/** @returns the exit code: 0, 1 when the command fails, 2 when it is not understood; `undefined` when the process sets its own. */
export async function runCommand(args: readonly string[]): Promise<number | undefined> {
  const [name, ...rest] = args;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(help());
    return 0;
  }
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) return refuse(`there is no command "${name}"`);
  const given = readGiven(command, rest);
  if (typeof given === 'string') return refuse(given, name);
  if (given.flags['help'] === true) {
    process.stdout.write(`${lineOf(name, command)}\n`);
    return 0;
  }
  return command.run(given);
}

function readGiven(command: Command, args: readonly string[]): Given | string {
  try {
    const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
    const { values: flags, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const unknown = positionals[command.arguments];
    return unknown === undefined ? { flags, positionals } : `"${unknown}" is one argument too many`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function refuse(why: string, name?: string): number {
  const command = name === undefined ? undefined : commands[name];
  process.stderr.write(`${why}\n\n${name !== undefined && command ? `${lineOf(name, command)}\n` : help()}`);
  return 2;
}

const lineOf = (name: string, { usage, summary }: Command): string =>
  `agent-workflow ${name}${usage && ` ${usage}`}\n    ${summary}`;

const help = (): string =>
  `${Object.entries(commands)
    .map(([name, command]) => lineOf(name, command))
    .join('\n')}\n`;

interface Manifest {
  readonly version: string;
  readonly private?: boolean;
}

/** Of the package that this file is part of: a clone has one, too, which is private. */
const manifest = (): Manifest =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest;

/** The version of the package that this file is part of. */
const version = (): string => manifest().version;

/** The folder of the clone that this file is part of; `undefined` in a package that was installed. */
const cloneFolder = (): string | undefined =>
  manifest().private === true ? fileURLToPath(new URL('../..', import.meta.url)) : undefined;

/** The folder of the tarball that npm installed this file's package from; `undefined` of one from a registry, or whose tarball is gone. */
function tarballsFolder(): string | undefined {
  const place = fileURLToPath(new URL('../..', import.meta.url)).replaceAll('\\', '/');
  const at = place.lastIndexOf('/node_modules/') + 1;
  const [project, path] = [place.slice(0, at), place.slice(at, -1)];
  const lock = `${project}node_modules/.package-lock.json`;
  if (at === 0 || !existsSync(lock)) return undefined;
  const { packages } = JSON.parse(readFileSync(lock, 'utf8')) as Installed;
  const [, tarball] = /^file:(.*\.tgz)$/.exec(packages[path]?.resolved ?? '') ?? [];
  const file = tarball === undefined ? undefined : resolve(project, tarball);
  return file !== undefined && existsSync(file) ? dirname(file) : undefined;
}

/** What npm writes down of what it installed. */
interface Installed {
  readonly packages: Readonly<Record<string, { readonly resolved?: string }>>;
}
