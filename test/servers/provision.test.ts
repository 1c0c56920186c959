import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { versions } from './provisioned.ts';

const script = fileURLToPath(new URL('./provision.ts', import.meta.url));
const nats = `nats-${versions.nats}`;
const cassandra = `cassandra-${versions.cassandra}`;

test('the second run finds everything there and makes nothing', async (t) => {
  const machine = await makeMachine(t, { go: 'echo called >> "$XDG_CACHE_HOME/calls"; echo > "$GOBIN/nats-server"' });
  const first = await machine.provision('nats');
  t.is(first.code, 0);
  t.regex(first.printed, /^NATS .*: compiling it.*\nNATS .*: done after \d+ s\b.*\nNATS .* is there\n$/s);
  const second = await machine.provision('nats');
  t.deepEqual(second, { code: 0, printed: `NATS ${versions.nats} is there\n` });
  t.is(await readFile(join(machine.caches, 'calls'), 'utf8'), 'called\n');
  t.deepEqual(await readdir(machine.servers), [nats]);
});

test('on a machine without tools each server is named with what it lacks, and nothing is touched', async (t) => {
  const machine = await makeMachine(t, {});
  const { code, printed } = await machine.provision();
  t.is(code, 1);
  t.is(
    printed,
    `Redis cannot be had: apt-get not on the PATH
PostgreSQL cannot be had: apt-get not on the PATH
NATS ${versions.nats} cannot be had: go not on the PATH
Cassandra ${versions.cassandra} cannot be had: java and mvn not on the PATH
S3 (versitygw ${versions.versitygw}) cannot be had: go not on the PATH
Weaviate ${versions.weaviate} cannot be had: go not on the PATH
absent: Redis, PostgreSQL, NATS ${versions.nats}, Cassandra ${versions.cassandra}, S3 (versitygw ${versions.versitygw}), Weaviate ${versions.weaviate}
`,
  );
  t.false(existsSync(machine.servers));
});

test('a server that cannot be made does not keep the others from being made', async (t) => {
  const machine = await makeMachine(t, {
    'redis-server': '',
    go: 'case "$*" in *nats*) echo no space left; exit 9; esac; echo > "$GOBIN/weaviate-server"',
  });
  const { code, printed } = await machine.provision('redis', 'nats', 'weaviate');
  t.is(code, 1);
  t.regex(printed, /^NATS .* cannot be had: Error: go install .* ended with 9:\nno space left\nWeaviate/m);
  t.regex(printed, /^Redis is there\n/);
  t.regex(printed, new RegExp(`^Weaviate ${versions.weaviate} is there\nabsent: NATS ${versions.nats}\n$`, 'm'));
  t.deepEqual(await readdir(machine.servers), [`weaviate-${versions.weaviate}`]);
});

test('a run that was broken off leaves no server that is half there, and the next one clears up after it alone', async (t) => {
  const machine = await makeMachine(t, { go: 'echo > "$GOBIN/nats-server"; kill -9 $PPID' });
  t.is((await machine.provision('nats')).code, null);
  t.is((await readdir(machine.servers)).length, 1);
  t.false(existsSync(join(machine.servers, nats)));
  const others = [`making-nats-${process.pid}-abcdef`, 'making-plans'];
  for (const name of others) await mkdir(join(machine.servers, name));
  await machine.install({ go: 'echo > "$GOBIN/nats-server"' });
  t.is((await machine.provision('nats')).code, 0);
  t.deepEqual((await readdir(machine.servers)).toSorted(), [...others, nats]);
});

test('whatever server a run makes, or finds there, it clears up after runs that were broken off, and leaves those that go on', async (t) => {
  const machine = await makeMachine(t, { go: 'echo > "$GOBIN/nats-server"' });
  const dead = spawnSync(process.execPath, ['--version']).pid;
  const [gone, alive] = [`making-cassandra-${dead}-Ab_c12`, `making-weaviate-${process.pid}-abcdef`];
  for (const run of ['makes it', 'finds it there']) {
    await mkdir(join(machine.servers, gone, 'lib'), { recursive: true });
    await mkdir(join(machine.servers, alive), { recursive: true });
    t.is((await machine.provision('nats')).code, 0, run);
    t.deepEqual((await readdir(machine.servers)).toSorted(), [alive, nats]);
  }
});

test('Cassandra is its jars; that it could not be made quicker is printed, and is no failure', async (t) => {
  const machine = await makeMachine(t, {
    java: 'echo a strange Java; exit 1',
    mvn: 'for last; do :; done; into=${last#-DoutputDirectory=}; /bin/mkdir "$into"; echo > "$into/one.jar"',
  });
  const { code, printed } = await machine.provision('cassandra');
  t.is(code, 0);
  t.regex(printed, /^Cassandra .* is there$/m);
  t.regex(printed, /not done: .*Cassandra ended with 1 before it was ready\na strange Java/s);
  t.deepEqual(await readdir(join(machine.servers, cassandra), { recursive: true }), ['lib', join('lib', 'one.jar')]);
});

test('what only the charts need is had when it is asked for, and then nothing else', async (t) => {
  const machine = await makeMachine(t, {});
  const { code, printed } = await machine.provision('--kubernetes');
  t.is(code, 1);
  t.is(
    printed.split('\n').at(-2),
    `absent: the APIs of Kubernetes and its extensions, kubeconform ${versions.kubeconform}, Helm ${versions.helm}, Helm ${versions.helm3}, Kubernetes ${versions.kubernetes}, redocly and generators of clients for Go and Python`,
  );
});

test('a server that nobody knows is refused, with those that are known', async (t) => {
  const machine = await makeMachine(t, {});
  const { code, printed } = await machine.provision('redis', 'mysql');
  t.is(code, 2);
  t.is(
    printed,
    'unknown: mysql; there are redis, postgres, nats, cassandra, versitygw, weaviate, apis, kubeconform, helm, helm3, kubernetes, generators\n',
  );
});

type Programs = Readonly<Record<string, string>>;

interface Machine {
  readonly caches: string;
  /** Where provisioned servers are. */
  readonly servers: string;
  readonly install: (programs: Programs) => Promise<void>;
  readonly provision: (...names: string[]) => Promise<{ readonly code: number | null; readonly printed: string }>;
}

/** A machine on whose PATH there are these shell scripts and nothing else, with an empty cache folder. */
async function makeMachine(t: ExecutionContext, programs: Programs): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-workflow-provision-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const [path, caches] = [join(folder, 'bin'), join(folder, 'caches')];
  await mkdir(path);
  await mkdir(caches);
  const install = async (added: Programs): Promise<void> => {
    for (const [name, body] of Object.entries(added))
      await writeFile(join(path, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  };
  await install(programs);
  return {
    caches,
    servers: join(caches, 'agent-workflow-service', 'servers'),
    install,
    provision: async (...names) => {
      const child = spawn(process.execPath, [script, ...names], {
        env: { PATH: path, XDG_CACHE_HOME: caches, TMPDIR: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [printed, [code]] = await Promise.all([
        text(child.stdout),
        once(child, 'exit') as Promise<[number | null]>,
      ]);
      return { code, printed };
    },
  };
}
