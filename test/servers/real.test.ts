import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { processEnv } from '@agent-workflow/kit/env';
import test, { type ExecutionContext } from 'ava';
import { privateCassandra } from './cassandra.ts';
import { privateNats } from './nats.ts';
import { onPath, versions, type ServerName } from './provisioned.ts';
import { leasePrivate, leaseShared } from './real-lease.ts';
import { exchange } from './real-probe.ts';
import { openServerProcess, type Recipe } from './real-process.ts';
import { withServer } from './real-suite.ts';
import { talks } from './real-talk.ts';
import { privatePostgres } from './postgres.ts';
import { privateRedis } from './redis.ts';
import { privateS3 } from './s3.ts';
import { privateWeaviate } from './weaviate.ts';

const provisionedHere = {
  redis: privateRedis(),
  postgres: privatePostgres(),
  nats: privateNats(),
  cassandra: privateCassandra(),
  versitygw: privateS3(),
  weaviate: privateWeaviate(),
};

withServer(test, privateRedis(), () => {
  /** A server that ends at its first `faults` starts, with these words. */
  const failing = (words: string, faults: number): { readonly recipe: Recipe; readonly ports: () => number[] } => {
    const ports: number[] = [];
    const recipe: Recipe = {
      ...{ server: 'redis', title: 'a server', portCount: 1 },
      prepare: (place) => {
        ports.push(place.ports[0] ?? 0);
        const code =
          ports.length > faults ? 'setInterval(() => {}, 1000)' : `console.log('${words}'); process.exitCode = 1`;
        return Promise.resolve({ command: process.execPath, args: ['-e', code] });
      },
      isReady: () => Promise.resolve(ports.length > faults),
    };
    return { recipe, ports: () => ports };
  };

  test('a server whose port is taken before it listens is started at another, and what ends for another reason is not', async (t) => {
    const taken = failing('listen tcp :1: bind: address already in use', 2);
    await using server = await openServerProcess(taken.recipe, { isDurable: false });
    t.is(taken.ports().length, 3);
    t.is(server.port, taken.ports().at(-1) ?? 0);
    const broken = failing('a fault of its own', 1);
    await t.throwsAsync(openServerProcess(broken.recipe, { isDurable: false }), { message: /a fault of its own/ });
    t.is(broken.ports().length, 1);
    const always = failing('EADDRINUSE', 9);
    await t.throwsAsync(openServerProcess(always.recipe, { isDurable: false }), { message: /EADDRINUSE/ });
    t.is(always.ports().length, 3);
  });
});

for (const [server, launcher] of Object.entries(provisionedHere) as [ServerName, typeof provisionedHere.redis][]) {
  const { keep, isKept } = talks[server];
  withServer(test, launcher, () => {
    test.serial(`${launcher.title}: processes that need it at once share one, which ends with the last`, async (t) => {
      const meeting = await makeFolder(t);
      const here = { TMPDIR: meeting };
      const first = startUser(t, [server, meeting], here);
      const second = startUser(t, [server, meeting], here);
      const third = startUser(t, [server, meeting], here);
      const port = await first.port;
      t.deepEqual([await second.port, await third.port], [port, port]);
      const started = (await readdir(meeting)).filter((name) => name.startsWith(`agent-workflow-${server}-`));
      t.is(started.length, 1);
      await keep(port);
      await first.end('SIGKILL');
      await second.end();
      t.true(await isKept(port));
      await third.end('SIGKILL');
      await until(() => isUnlocked(join(meeting, `${server}.lock`)));
      await t.throwsAsync(isKept(port));
    });

    test.serial(`${launcher.title}: what it acknowledged outlives a kill, and no wipe`, async (t) => {
      await using lease = await leasePrivate(server, { isDurable: true });
      t.false(await isKept(lease.port));
      await keep(lease.port);
      await lease.kill();
      await t.throwsAsync(isKept(lease.port));
      await lease.restart();
      t.true(await isKept(lease.port));
      await t.throwsAsync(lease.wipe(), { message: /kill or stop it before its data is wiped/ });
      await lease.kill();
      await lease.wipe();
      await lease.restart();
      t.false(await isKept(lease.port));
    });
  });
}

withServer(test, provisionedHere.nats, (server) => {
  test.serial('a private server is told of by its address, and can be read what it printed', async (t) => {
    const { url, stop, restart, readLog } = await server();
    const port = Number(new URL(url).port);
    t.true((await exchange(port)).toString().startsWith('INFO {'));
    await stop();
    await t.throwsAsync(exchange(port));
    await restart();
    t.true((await exchange(port)).toString().startsWith('INFO {'));
    t.is((await readLog()).match(/Server is ready/g)?.length, 2);
  });

  test.serial('a private server ends with the process that uses it, killed or not', async (t) => {
    for (const signal of ['SIGKILL', undefined] as const) {
      const user = startUser(t, ['nats']);
      const port = await user.port;
      await user.end(signal);
      await t.notThrowsAsync(until(() => isRefused(port)));
    }
  });
});

withServer(test, provisionedHere.redis, () => {
  test.serial('a shared server that broke down is started anew for whoever needs it next', async (t) => {
    const meeting = await makeFolder(t);
    await using broken = await leaseShared({ server: 'redis', meeting });
    await t.throwsAsync(exchange(broken.port, 'SHUTDOWN NOSAVE\r\n'));
    // Within a moment of its end, its supervisor may not have noticed yet.
    const isAnswered = async (): Promise<boolean> => {
      await using next = await leaseShared({ server: 'redis', meeting });
      return await exchange(next.port, 'PING\r\n').then(
        (answer) => answer.toString() === '+PONG\r\n',
        () => false,
      );
    };
    await t.notThrowsAsync(until(isAnswered));
  });

  if (onPath('setpriv') !== undefined) {
    test.serial('a server does not outlive the process that runs it for others, whatever ends that one', async (t) => {
      const meeting = await makeFolder(t);
      const user = startUser(t, ['redis', meeting], { TMPDIR: meeting });
      const port = await user.port;
      const pid = /process_id:(\d+)/.exec((await exchange(port, 'INFO server\r\n')).toString())?.[1] ?? '';
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      process.kill(Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]), 'SIGKILL');
      await t.notThrowsAsync(until(() => isRefused(port)));
      await user.end();
    });
  }
});

test('a server that does not start fails with what it printed, and leaves nothing behind', async (t) => {
  const caches = await makeFolder(t);
  await writeProgram(
    join(caches, `agent-workflow-service/servers/nats-${versions.nats}/nats-server`),
    'echo no luck; exit 3',
  );
  const places = [['nats'], ['nats', join(caches, 'meeting')]] as const;
  for (const place of places) {
    const user = startUser(t, place, { XDG_CACHE_HOME: caches, TMPDIR: caches });
    await t.throwsAsync(user.port, { message: /NATS ended with 3 before it was ready\nno luck/ });
  }
  await until(() => isUnlocked(join(caches, 'meeting', 'nats.lock')));
  await until(async () => (await readdir(caches)).every((name) => !name.startsWith('agent-workflow-nats')));
});

test('the suite of an absent server is one skipped test that names it, and fails where servers are required', async (t) => {
  const project = await makeFolder(t);
  await writeFile(
    join(project, 'package.json'),
    '{ "type": "module", "ava": { "files": ["*.test.ts"], "extensions": ["ts"] } }',
  );
  await writeFile(
    join(project, 'absent.test.ts'),
    `import test from ${JSON.stringify(import.meta.resolve('ava'))};
import { nats, privateNats } from ${JSON.stringify(import.meta.resolve('./nats.ts'))};
import { withServer } from ${JSON.stringify(import.meta.resolve('./real-suite.ts'))};
withServer(test, nats, () => {
  test('never', (t) => t.fail());
});
withServer(test, privateNats(), () => {
  test('neither', (t) => t.fail());
});
`,
  );
  const away = { XDG_CACHE_HOME: project, NATS_URL: '' };
  const optional = await runAva(project, { ...away, REQUIRE_SERVERS: '' });
  t.is(optional.code, 0);
  t.regex(
    optional.tap,
    /^ok 1 - NATS is absent: set NATS_URL, or run `npm run servers` and set REQUIRE_SERVERS=1 # SKIP$/m,
  );
  t.regex(
    optional.tap,
    /^ok 2 - NATS is absent: run `npm run servers` and set REQUIRE_SERVERS=1 for one that tests may kill # SKIP$/m,
  );
  t.regex(optional.tap, /^# pass 0\n# skip 2\n# fail 0$/m);
  const servers = join(project, 'agent-workflow-service', 'servers');
  await writeProgram(join(servers, `nats-${versions.nats}`, 'nats-server'), 'echo it was started; exit 3');
  const provisioned = await runAva(project, { ...away, REQUIRE_SERVERS: '' });
  t.is(provisioned.tap, optional.tap, 'what an earlier run left behind is not used');
  await rm(servers, { recursive: true });
  const required = await runAva(project, { ...away, REQUIRE_SERVERS: '1' });
  t.is(required.code, 1);
  t.regex(
    required.tap,
    /^not ok 1 - NATS is absent: set NATS_URL, or run `npm run servers` and set REQUIRE_SERVERS=1$/m,
  );
  t.regex(required.tap, /^# fail 2$/m);
});

test('a server that the environment names is used as it is, and started by nobody', async (t) => {
  const show = `
import { cassandra } from ${JSON.stringify(import.meta.resolve('./cassandra.ts'))};
import { nats } from ${JSON.stringify(import.meta.resolve('./nats.ts'))};
import { postgres } from ${JSON.stringify(import.meta.resolve('./postgres.ts'))};
import { redis } from ${JSON.stringify(import.meta.resolve('./redis.ts'))};
import { s3 } from ${JSON.stringify(import.meta.resolve('./s3.ts'))};
import { weaviate } from ${JSON.stringify(import.meta.resolve('./weaviate.ts'))};
for (const launcher of [redis, nats, weaviate, cassandra, postgres, s3]) {
  await using server = await launcher.open();
  process.stdout.write(JSON.stringify(server) + '\\n');
}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', show], {
    env: {
      ...processEnv(),
      XDG_CACHE_HOME: await makeFolder(t),
      REDIS_URL: 'redis://redis.example:6379/3',
      NATS_URL: 'nats://nats.example',
      WEAVIATE_URL: 'http://weaviate.example',
      CASSANDRA_CONTACT_POINTS: 'one.example, two.example:9043',
      CASSANDRA_LOCAL_DATACENTER: 'west',
      POSTGRES_URL: 'postgres://ada:p%40ss@postgres.example/record',
      S3_URL: 'http://ada:p%40ss@s3.example:9000',
    },
  });
  t.deepEqual(
    (await text(child.stdout))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    [
      { url: 'redis://redis.example:6379/3' },
      { url: 'nats://nats.example' },
      { url: 'http://weaviate.example' },
      { contactPoints: ['one.example', 'two.example:9043'], localDataCenter: 'west' },
      { host: 'postgres.example', port: 5432, username: 'ada', password: 'p@ss', database: 'record' },
      { url: 'http://s3.example:9000', accessKeyId: 'ada', secretAccessKey: 'p@ss' },
    ],
  );
});

/** A process that uses a server: `real-user.ts`. */
interface User {
  /** Rejects with what it printed when it ends instead. */
  readonly port: Promise<number>;
  /** Lets it end by itself, or by the signal. Resolves when it has. */
  readonly end: (signal?: NodeJS.Signals) => Promise<void>;
}

const userScript = fileURLToPath(new URL('./real-user.ts', import.meta.url));

function startUser(
  t: ExecutionContext,
  args: readonly [ServerName, string?],
  env: Readonly<Record<string, string>> = {},
): User {
  const child: ChildProcessWithoutNullStreams = spawn(
    process.execPath,
    [userScript, ...args.filter((arg) => arg !== undefined)],
    { env: { ...processEnv(), ...env } },
  );
  const exited = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  const complaint = text(child.stderr);
  const printed = once(child.stdout.setEncoding('utf8'), 'data') as Promise<[string]>;
  return {
    port: Promise.race([
      printed.then(([line]) => Number(line)),
      exited.then(async () => {
        throw new Error(await complaint);
      }),
    ]),
    end: async (signal) => {
      if (signal === undefined) child.stdin.end();
      else child.kill(signal);
      await exited;
    },
  };
}

async function makeFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-real-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function writeProgram(path: string, script: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

async function runAva(cwd: string, env: Readonly<Record<string, string>>): Promise<{ code: number; tap: string }> {
  const cli = fileURLToPath(new URL('./cli.js', import.meta.resolve('ava')));
  const child = spawn(process.execPath, [cli, '--tap'], { cwd, env: { ...processEnv(), ...env } });
  const [tap, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number]>]);
  return { code, tap };
}

/** What is waited for comes within seconds, also on a busy machine; and sooner than a server that merely lingers would end. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within 10 s: ${String(isSo)}`);
    await delay(20);
  }
}

const isRefused = (port: number): Promise<boolean> =>
  exchange(port).then(
    () => false,
    (error: unknown) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED',
  );

/** Whether the process that held the lock has ended. */
function isUnlocked(path: string): boolean {
  const db = new DatabaseSync(path);
  try {
    db.exec('BEGIN EXCLUSIVE');
    return true;
  } catch {
    return false;
  } finally {
    db.close();
  }
}
