import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { processEnv } from '@agent-workflow/kit/env';
import { exchange } from './real-probe.ts';
import { folderOf } from './provisioned.ts';
import { openServerProcess, type Command, type Place, type Recipe, type RunOptions } from './real-process.ts';
import { createLauncher, privately, type Launcher, type Private } from './real.ts';

export interface Cassandra {
  /** `host:port` each; users keep to a keyspace of their own. */
  readonly contactPoints: readonly string[];
  readonly localDataCenter: string;
}

/** Of protocol 4: a request for the options that the server knows, and the opcode of the answer. */
const optionsFrame = Uint8Array.of(4, 0, 0, 0, 5, 0, 0, 0, 0);
const supported = 6;

export const cassandraRecipe: Recipe = {
  server: 'cassandra',
  title: 'Cassandra',
  portCount: 2,
  prepare: async (place) => {
    await mkdir(join(place.data, 'tmp'), { recursive: true });
    await writeFile(join(place.data, 'cassandra.yaml'), yaml(place));
    await writeFile(join(place.data, 'logback.xml'), logback);
    return { command: 'java', args: [...(await java(place)), 'org.apache.cassandra.service.CassandraDaemon'] };
  },
  // The port opens last: whoever is answered here can change the schema.
  isReady: async (port) => (await exchange(port, optionsFrame))[4] === supported,
};

const reach = (port: number): Cassandra => ({
  contactPoints: [`127.0.0.1:${port}`],
  localDataCenter: 'datacenter1',
});

/** The one at `CASSANDRA_CONTACT_POINTS` (and `CASSANDRA_LOCAL_DATACENTER`), else the one that all tests share. */
export const cassandra: Launcher<Cassandra> = createLauncher({
  recipe: cassandraRecipe,
  reach,
  given: {
    variable: 'CASSANDRA_CONTACT_POINTS',
    read: (points) => ({
      contactPoints: points.split(',').map((point) => point.trim()),
      localDataCenter: processEnv()['CASSANDRA_LOCAL_DATACENTER'] ?? 'datacenter1',
    }),
  },
});

/**
 * One of the caller's own, to be killed and restarted. It acknowledges a write once it is on disk (`batch`); with `periodic`, a
 * kill loses the writes of the last seconds. Its conditional writes are of the second kind, as operators are advised; those of the one
 * that tests share are of the first, which is the default.
 */
export const privateCassandra = (
  options: Pick<RunOptions, 'commitlogSync' | 'secured' | 'isForMeasuring'> = {},
): Launcher<Private<Cassandra>> => privately({ recipe: cassandraRecipe, reach, options });

/** Classes of an earlier run, as they lie in memory. The JVM takes it only when its version and the jars are the same. */
export const classArchive = (): string => join(folderOf('cassandra'), 'classes.jsa');

/** Makes the archive, by a run that ends in order. */
export async function archiveClasses(): Promise<void> {
  const made = `${classArchive()}.${process.pid}`;
  const prepare = async (place: Place): Promise<Command> => {
    const { command, args } = await cassandraRecipe.prepare(place);
    return { command, args: [`-XX:ArchiveClassesAtExit=${made}`, ...args] };
  };
  await using server = await openServerProcess({ ...cassandraRecipe, prepare }, { isDurable: true });
  await server.stop();
  await rename(made, classArchive());
}

const memory = ['-Xms256M', '-Xmx512M', '-Xss512k', '-XX:+UseSerialGC'];
/** The first stage of the compiler is enough for a process that lives for minutes, and half the work. */
const firstStage = '-XX:TieredStopAtLevel=1';

const exported = [
  ...['jdk.internal.misc', 'jdk.internal.ref', 'sun.nio.ch', 'java.lang.ref'].map((name) => `java.base/${name}`),
  'java.management.rmi/com.sun.jmx.remote.internal.rmi',
  'java.rmi/sun.rmi.registry',
  'java.rmi/sun.rmi.server',
  'java.sql/java.sql',
  'jdk.unsupported/sun.misc',
  'jdk.compiler/com.sun.tools.javac.file',
  'jdk.attach/sun.tools.attach',
];

const opened = [
  ...['java.lang.module', 'jdk.internal.loader', 'jdk.internal.ref', 'jdk.internal.reflect', 'jdk.internal.math'],
  ...['jdk.internal.module', 'jdk.internal.util.jar', 'sun.nio.ch', 'java.io', 'java.lang', 'java.lang.reflect'],
  ...['java.util', 'java.util.concurrent', 'java.util.concurrent.atomic', 'java.nio'],
]
  .map((name) => `java.base/${name}`)
  .concat('jdk.management/com.sun.management.internal', 'jdk.compiler/com.sun.tools.javac');

/** The arguments up to the main class. */
async function java({ program, data, options }: Place): Promise<string[]> {
  const jars = (await readdir(program)).filter((name) => name.endsWith('.jar')).toSorted();
  const archive = classArchive();
  return [
    ...memory,
    ...(options.isForMeasuring ? [] : [firstStage]),
    '-XX:MaxDirectMemorySize=256M',
    ...(existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : []),
    '-Djdk.attach.allowAttachSelf=true',
    '-Dio.netty.tryReflectionSetAccessible=true',
    ...exported.flatMap((name) => ['--add-exports', `${name}=ALL-UNNAMED`]),
    ...opened.flatMap((name) => ['--add-opens', `${name}=ALL-UNNAMED`]),
    `-Dcassandra.config=${pathToFileURL(join(data, 'cassandra.yaml')).href}`,
    `-Dcassandra.storagedir=${data}`,
    `-Dcassandra.logdir=${data}`,
    `-Dlogback.configurationFile=${join(data, 'logback.xml')}`,
    `-Djava.io.tmpdir=${join(data, 'tmp')}`,
    '-Dcassandra-foreground=yes',
    '-Djava.net.preferIPv4Stack=true',
    // A lone node has nobody to wait for.
    '-Dcassandra.ring_delay_ms=0',
    '-Dcassandra.skip_wait_for_gossip_to_settle=0',
    '-Dcassandra.shutdown_announce_in_ms=0',
    '-Dcassandra.superuser_setup_delay_ms=0',
    // System tables that are never flushed make changes to the schema quick, and do not survive a restart.
    ...(options.isDurable ? [] : ['-Dcassandra.unsafesystem=true']),
    '-cp',
    jars.map((name) => join(program, name)).join(delimiter),
  ];
}

const yaml = ({ data, ports: [cql, storage], options: { isDurable, commitlogSync, secured } }: Place): string =>
  `cluster_name: test
num_tokens: 1
initial_token: 0
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{ seeds: "127.0.0.1:${storage}" }]
listen_address: 127.0.0.1
storage_port: ${storage}
rpc_address: 127.0.0.1
native_transport_port: ${cql}
auto_bootstrap: false
auto_snapshot: false
hinted_handoff_enabled: false
dynamic_snitch: false
data_file_directories: ["${data}/data"]
commitlog_directory: "${data}/commitlog"
saved_caches_directory: "${data}/saved_caches"
hints_directory: "${data}/hints"
cdc_raw_directory: "${data}/cdc_raw"
${(commitlogSync ?? (isDurable ? 'batch' : 'periodic')) === 'batch' ? batch : periodic}
paxos_variant: ${isDurable ? 'v2' : 'v1'}
commitlog_segment_size: 32MiB
memtable_heap_space: 128MiB
memtable_offheap_space: 64MiB
key_cache_size: 8MiB
file_cache_size: 64MiB
networking_cache_size: 32MiB
concurrent_reads: 8
concurrent_writes: 8
concurrent_compactors: 1
storage_compatibility_mode: NONE
sstable: { selected_format: bti }
memtable:
  configurations:
    trie: { class_name: TrieMemtable }
    default: { inherits: trie }
${secured ? guarded(secured) : ''}`;

const guarded = ({ keyAndCertificate, authorities }: NonNullable<RunOptions['secured']>): string =>
  `authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: true
  require_client_auth: true
  ssl_context_factory: { class_name: org.apache.cassandra.security.PEMBasedSslContextFactory }
  keystore: ${keyAndCertificate}
  truststore: ${authorities}
`;

const batch = 'commitlog_sync: batch';
const periodic = 'commitlog_sync: periodic\ncommitlog_sync_period: 10000ms';

const logback = `<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out" /></root>
</configuration>
`;
