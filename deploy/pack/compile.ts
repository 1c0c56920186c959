import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * `node deploy/pack/compile.ts FOLDER`: starts each process of the image that is laid out in the folder once, so that the code which they
 * compile is kept in the image (`services/runtime/compiled-code.ts`). No server is there: each loads the client of its own, and finds
 * that nobody answers. `deploy/image.sh` runs it.
 */
const [image = ''] = process.argv.slice(2);
const compiled = join(image, 'node_modules/@agent-workflow/server/compiled');

/** Nothing listens at this port. */
const [host, port] = ['127.0.0.1', '9'];
const nobody = `${host}:${port}`;
const record = { THREADS_ADDRESS: nobody, MEMORY_ADDRESS: nobody };
const served = { GRPC_HOST: '127.0.0.1', GRPC_PORT: '0' };

interface Start {
  readonly main: string;
  readonly env: Readonly<Record<string, string>>;
  /** What it prints when it has loaded all that it needs. */
  readonly until: RegExp;
}

const starts: readonly Start[] = [
  { main: 'services/standalone/main.js', env: { HOST: '127.0.0.1', PORT: '0' }, until: /listens on/ },
  {
    main: 'gateway/main.js',
    env: { HOST: '127.0.0.1', PORT: '0', REDIS_URL: `redis://${nobody}`, EXECUTION_ADDRESS: nobody, ...record },
    until: /listens on/,
  },
  {
    main: 'services/threads/main.js',
    env: { ...served, CASSANDRA_CONTACT_POINTS: nobody, CASSANDRA_LOCAL_DATACENTER: 'nowhere' },
    until: /a part fails/,
  },
  {
    main: 'services/threads/main.js',
    env: { ...served, THREAD_STORE: 'postgres', POSTGRES_HOST: host, POSTGRES_PORT: port },
    until: /a part fails/,
  },
  {
    main: 'services/execution/main.js',
    env: { ...served, NATS_URL: `nats://${nobody}`, ROLE: 'worker', ...record },
    until: /NATS/,
  },
  { main: 'services/memory/main.js', env: { ...served, WEAVIATE_URL: `http://${nobody}` }, until: /a part fails/ },
];

const maxMs = 60_000;

/** @throws Error with what it printed when it does not come so far. */
async function start({ main, env, until }: Start, place: string): Promise<void> {
  const child = spawn(join(image, 'node_modules/.bin/node'), [main], {
    cwd: image,
    env: { NODE_ENV: 'production', DATA_DIR: place, METRICS_PORT: '0', METRICS_HOST: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: AbortSignal.timeout(maxMs),
  });
  const exited = once(child, 'exit');
  const lines: string[] = [];
  let isLoaded = false;
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (isLoaded || !until.test(line)) continue;
    isLoaded = true;
    // It writes what it compiled when it ends by itself.
    child.kill('SIGTERM');
  }
  await exited;
  if (!isLoaded) throw new Error(`${main} ended before it had loaded everything:\n${lines.join('\n')}`);
}

/** The user of the image, and the name that the folders of a user end with. */
const imageUser = '-10001';
const ownUser = `-${String(process.getuid?.() ?? '')}`;

/** What the user who makes the image has compiled is found by the user of the image, too. */
function linkForImage(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    linkForImage(join(folder, entry.name));
    const name = entry.name.replace(new RegExp(`${ownUser}$`), imageUser);
    if (name !== entry.name) symlinkSync(basename(entry.name), join(folder, name));
  }
}

mkdirSync(compiled);
for (const one of starts) {
  const place = mkdtempSync(join(tmpdir(), 'agent-workflow-compile-'));
  await start(one, place).finally(() => rmSync(place, { recursive: true }));
}
linkForImage(compiled);
