import { ConfigError } from '@agent-workflow/kit/env';
import type { Log } from '@agent-workflow/kit/log';

/** How durable the writes are that the servers have confirmed. */
interface Durability {
  readonly version: string;
  /** Copies of the stream with the fewest. */
  readonly replicas: number;
  /** Milliseconds between two syncs of the disk, 0 for a sync with each write; `undefined` when it is not known. */
  readonly syncIntervalMs: number | undefined;
}

/** Logs in one line what the servers promise. @throws ConfigError when that is too little for `strict`. */
export function checkDurability(log: Log, { version, replicas, syncIntervalMs }: Durability, strict: boolean): void {
  const synced = syncIntervalMs === undefined ? 'not known' : syncIntervalMs === 0 ? 'always' : `${syncIntervalMs} ms`;
  log.info({ nats: version, replicas, syncInterval: synced }, 'durability of queue and events');
  if (!strict) return;
  const problems = [
    ...(replicas >= strictReplicas ? [] : [`NATS_REPLICAS is ${replicas}, fewer than ${strictReplicas}`]),
    ...(syncIntervalMs === 0
      ? []
      : [
          syncIntervalMs === undefined
            ? 'how often NATS syncs its disks is not known: set NATS_MONITOR_URL to the monitoring port of every server'
            : `NATS syncs its disks every ${syncIntervalMs} ms: set \`sync_interval: always\` on every server`,
        ]),
  ];
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `DURABILITY=strict: ${problem}`).join('\n'));
}

const strictReplicas = 3;

/** The oldest server whose JetStream keeps confirmed writes through a restart, as far as we know. */
const minVersion = [2, 12, 7] as const;

/** @throws ConfigError when the server is older than the oldest supported. */
export function checkVersion(version: string): void {
  const parts = version.split(/[.-]/).map(Number);
  for (const [index, least] of minVersion.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least) throw new ConfigError(`NATS is of version ${version}, older than ${minVersion.join('.')}`);
  }
}

const monitorTimeoutMs = 3000;
const nanosPerMs = 1_000_000;

interface JetStreamReport {
  readonly config?: { readonly sync_interval?: number; readonly sync_always?: boolean };
}

/** The longest time between two syncs of the disk, read at the monitoring ports of all servers; `undefined` when one does not answer. */
export async function readSyncInterval(monitorUrls: readonly string[]): Promise<number | undefined> {
  const intervals = await Promise.all(monitorUrls.map(readServerSync));
  if (intervals.length === 0 || intervals.includes(undefined)) return undefined;
  return Math.max(...intervals.map((interval) => interval ?? 0));
}

async function readServerSync(url: string): Promise<number | undefined> {
  try {
    const reply = await fetch(new URL('/jsz?config=true', url), { signal: AbortSignal.timeout(monitorTimeoutMs) });
    const { config } = (await reply.json()) as JetStreamReport;
    if (config?.sync_always === true) return 0;
    return config?.sync_interval === undefined ? undefined : config.sync_interval / nanosPerMs;
  } catch {
    return undefined;
  }
}
