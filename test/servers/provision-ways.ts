import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processEnv } from '@agent-workflow/kit/env';
import { archiveClasses, classArchive } from './cassandra.ts';
import { runToEnd } from './provision-run.ts';
import { buildKubernetes, fetchApis } from './provision-kubernetes.ts';
import { versions, type ServerName, type ToolName } from './provisioned.ts';

/** How one server, or one tool, is had. */
export interface Way<Name = ServerName | ToolName> {
  readonly server: Name;
  readonly title: string;
  /** What is done, and what it takes when nothing of it is there yet. */
  readonly effort: string;
  /** Programs that must be on the PATH. */
  readonly needs: readonly string[];
  /** Why it cannot be had here although the programs are there. */
  readonly hindrance?: () => string | undefined;
  /** Makes it in a folder that is empty, and becomes the server's folder when all went well. */
  readonly make: (folder: string) => Promise<void>;
  /** What makes a server that is there quicker to start. */
  readonly tuning?: { readonly effort: string; readonly isDone: () => boolean; readonly run: () => Promise<void> };
}

/** The quick ones first: whoever waits for one of them does not wait for a compiler. */
export const serverWays: readonly Way<ServerName>[] = [
  {
    server: 'redis',
    title: 'Redis',
    effort: "installing the system's package, some seconds",
    needs: ['apt-get'],
    hindrance: () =>
      process.getuid?.() === 0
        ? undefined
        : 'only root can install it, and no redis-server is on the PATH: install Redis 7 or later yourself',
    make: () => aptInstall('redis-server'),
  },
  {
    server: 'postgres',
    title: 'PostgreSQL',
    effort: "installing the system's package, some seconds",
    needs: ['apt-get'],
    hindrance: () =>
      process.getuid?.() === 0
        ? undefined
        : 'only root can install it, and no initdb is on the PATH: install PostgreSQL 14 or later yourself',
    make: installPostgres,
  },
  {
    server: 'nats',
    title: `NATS ${versions.nats}`,
    effort: 'compiling it, about a minute',
    needs: ['go'],
    make: (folder) => goInstall(folder, `github.com/nats-io/nats-server/v2@v${versions.nats}`),
  },
  {
    server: 'cassandra',
    title: `Cassandra ${versions.cassandra}`,
    effort: 'fetching 67 MB of jars, about 20 seconds',
    needs: ['java', 'mvn'],
    make: fetchCassandra,
    tuning: {
      effort: 'running it once, so that it starts in half the time, about 10 seconds',
      isDone: () => existsSync(classArchive()),
      run: archiveClasses,
    },
  },
  {
    server: 'versitygw',
    title: `S3 (versitygw ${versions.versitygw})`,
    effort: 'compiling it, about a minute',
    needs: ['go'],
    make: (folder) => goInstall(folder, `github.com/versity/versitygw/cmd/versitygw@v${versions.versitygw}`),
  },
  {
    server: 'weaviate',
    title: `Weaviate ${versions.weaviate}`,
    effort: "compiling it, about 5 minutes, 2 GB of memory and 4 GB in Go's own caches",
    needs: ['go'],
    make: (folder) => goInstall(folder, `github.com/weaviate/weaviate/cmd/weaviate-server@v${versions.weaviate}`),
  },
];

/** What only the charts and the description of the interface need: had with `--kubernetes`. */
export const toolWays: readonly Way<ToolName>[] = [
  {
    server: 'apis',
    title: 'the APIs of Kubernetes and its extensions',
    effort: 'fetching five modules, some seconds',
    needs: ['go'],
    make: fetchApis,
  },
  {
    server: 'kubeconform',
    title: `kubeconform ${versions.kubeconform}`,
    effort: 'compiling it, some seconds',
    needs: ['go'],
    make: (folder) => goInstall(folder, `github.com/yannh/kubeconform/cmd/kubeconform@v${versions.kubeconform}`),
  },
  {
    server: 'helm',
    title: `Helm ${versions.helm}`,
    effort: 'compiling it, about 3 minutes',
    needs: ['go'],
    make: (folder) => goInstall(folder, `helm.sh/helm/v4/cmd/helm@v${versions.helm}`),
  },
  {
    server: 'helm3',
    title: `Helm ${versions.helm3}`,
    effort: 'compiling it, about a minute',
    needs: ['go'],
    make: (folder) => goInstall(folder, `helm.sh/helm/v3/cmd/helm@v${versions.helm3}`),
  },
  {
    server: 'kubernetes',
    title: `Kubernetes ${versions.kubernetes}`,
    effort: "compiling its control plane, about 6 minutes and 3 GB in Go's own caches",
    needs: ['go'],
    make: buildKubernetes,
  },
  {
    server: 'generators',
    title: 'redocly and generators of clients for Go and Python',
    effort: 'compiling one and installing two, about a minute',
    needs: ['go', 'python3', 'npm'],
    make: installGenerators,
  },
];

/** What reads the description of the interface: each in a folder of its own, which can be moved. */
async function installGenerators(folder: string): Promise<void> {
  const [, oapi, python, redocly] = /^oapi(.*)-python(.*)-redocly(.*)$/.exec(versions.generators) ?? [];
  await goInstall(folder, `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v${String(oapi)}`);
  const pip = ['-m', 'pip', 'install', '--quiet', '--target', join(folder, 'python')];
  await runToEnd('python3', [...pip, `openapi-python-client==${String(python)}`]);
  const npm = ['install', '--no-audit', '--no-fund', '--prefix', join(folder, 'redocly')];
  await runToEnd('npm', [...npm, `@redocly/cli@${String(redocly)}`], { cwd: folder });
}

/** A machine that was never updated has no list of packages yet: then it is fetched, and only then. */
async function aptInstall(name: string): Promise<void> {
  const install = ['install', '--yes', '--no-install-recommends', name];
  const env = { ...processEnv(), DEBIAN_FRONTEND: 'noninteractive' };
  await runToEnd('apt-get', install, { env }).catch(async () => {
    await runToEnd('apt-get', ['update'], { env });
    await runToEnd('apt-get', install, { env });
  });
}

/** Debian's package would make a database and start a server on it: nothing of ours uses them. */
async function installPostgres(): Promise<void> {
  const folder = '/etc/postgresql-common/createcluster.d';
  const file = join(folder, 'agent-workflow-service.conf');
  await mkdir(folder, { recursive: true });
  await writeFile(file, 'create_main_cluster = false\n');
  try {
    await aptInstall('postgresql');
  } finally {
    await rm(file, { force: true });
  }
}

/** Without symbols the programs are a third smaller. The folder is outside of any module, so that no go.mod has a say. */
const goInstall = (folder: string, program: string): Promise<void> =>
  runToEnd('go', ['install', '-ldflags=-s -w', program], { cwd: folder, env: { ...processEnv(), GOBIN: folder } });

/** The jars are all there is to Cassandra: a project that depends on it, and has them copied to one folder. */
async function fetchCassandra(folder: string): Promise<void> {
  const scratch = join(folder, 'scratch');
  await mkdir(scratch);
  await writeFile(join(scratch, 'pom.xml'), pom);
  const into = `-DoutputDirectory=${join(folder, 'lib')}`;
  await runToEnd('mvn', ['-B', '-q', 'dependency:copy-dependencies', into], { cwd: scratch });
  await rm(scratch, { recursive: true });
}

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>agent-workflow-service</groupId>
  <artifactId>cassandra</artifactId>
  <version>${versions.cassandra}</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId>
      <artifactId>cassandra-all</artifactId>
      <version>${versions.cassandra}</version>
    </dependency>
  </dependencies>
</project>
`;
