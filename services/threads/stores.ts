import { choice, crossCheck, type Settings, type Values } from '@agent-workflow/kit/env';
import type { Log } from '@agent-workflow/kit/log';
import type { PartHealth } from '@agent-workflow/runtime/health';
import type { Registry } from '@agent-workflow/runtime/metrics';
import { configureCassandra } from './adapters/cassandra/configure.ts';
import { cassandraSettings } from './adapters/cassandra/settings.ts';
import { configurePostgres } from './adapters/postgres/configure.ts';
import { postgresSettings } from './adapters/postgres/settings.ts';
import type { ThreadStore } from './ports/store.ts';

/** A server that can hold the record of a cluster. */
interface StoreKind {
  /** What it reads from the environment. */
  readonly settings: Settings;
  /** @throws ConfigError naming every setting that does not hold with the others. */
  readonly configure: (values: never) => ConfiguredStore;
}

/** A store whose settings hold; nothing is open yet. */
interface ConfiguredStore {
  /** The server's name in log lines. */
  readonly server: string;
  /** Prepares the opening. The function it returns opens the store; it throws Unavailable while the server does not answer. */
  readonly opener: (watching: StoreWatching) => Promise<() => Promise<ThreadStore>>;
  /**
   * Creates the schema or brings it up to this release. @returns its version.
   * @throws Unavailable when the server cannot be reached for long or another process migrates for too long; ConfigError when the
   * schema is of a newer release, or older than the first one.
   */
  readonly migrate: (migrating: StoreMigration) => Promise<number>;
}

interface StoreWatching {
  /** Seconds after which a checkpoint expires; 0 is never. */
  readonly checkpointTtl: number;
  /** Takes what fails beside a call that has been answered. */
  readonly log: Log;
  /** Takes whether the server answers. */
  readonly health: PartHealth;
  /** Absent when nothing is measured. */
  readonly registry: Registry | undefined;
}

interface StoreMigration {
  /** How long to wait for a server that does not answer and for another process that migrates, in milliseconds. */
  readonly waitMs: number;
  readonly log: Log;
}

/** The registry: a store is a folder of `adapters/`, a line here, and a line in the list of stores that the contract suites run on. */
const threadStores = {
  cassandra: { settings: cassandraSettings, configure: configureCassandra },
  postgres: { settings: postgresSettings, configure: configurePostgres },
} as const satisfies Readonly<Record<string, StoreKind>>;

type StoreName = keyof typeof threadStores;
type Intersection<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;
type EveryStoreSettings = Intersection<(typeof threadStores)[StoreName]['settings']>;

const everyStoreSettings = Object.assign(
  {},
  ...Object.values(threadStores).map(({ settings }) => settings),
) as EveryStoreSettings;

/** Which store holds the record of a cluster, and what each of them reads from the environment. */
export const storeSettings = {
  THREAD_STORE: choice(
    Object.keys(threadStores) as StoreName[],
    'cassandra',
    'The server in which a cluster keeps threads, messages and runs; the settings of the others have no effect',
  ),
  ...everyStoreSettings,
} satisfies Settings;

/**
 * The store that `THREAD_STORE` names, from its settings.
 * @throws ConfigError naming every setting that does not hold with the others.
 */
export const configureStore = (values: Values<typeof storeSettings>): ConfiguredStore =>
  threadStores[values.THREAD_STORE].configure(values);

/** What must hold between the settings of the store that `THREAD_STORE` names. */
export const storeChecks = [crossCheck(storeSettings, configureStore)];
