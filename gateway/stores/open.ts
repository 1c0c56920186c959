import type { Health } from '@agent-workflow/kit/health';
import type { Log } from '@agent-workflow/kit/log';
import type { Registry } from '@agent-workflow/kit/metrics';
import { openMemoryCounter } from '../limits/adapters/memory.ts';
import { openRedisCounter } from '../limits/adapters/redis.ts';
import { withFallback } from '../limits/fallback.ts';
import type { Counter } from '../limits/port.ts';
import { watchRedis } from '../redis/metrics.ts';
import { openMemoryOnceCache } from '../idempotency/adapters/memory.ts';
import { openRedisOnceCache } from '../idempotency/adapters/redis.ts';
import type { OnceCache } from '../idempotency/port.ts';
import { openMemoryTicketStore } from '../tickets/adapters/memory.ts';
import { openRedisTicketStore } from '../tickets/adapters/redis.ts';
import type { TicketStore } from '../tickets/port.ts';
import { openMemoryToolShelf } from '../tools/adapters/memory.ts';
import { openRedisToolShelf } from '../tools/adapters/redis.ts';
import type { ToolShelf } from '../tools/port.ts';
import type { StoreConfig } from '../redis/settings.ts';

/** All that the edge keeps. None of it is a record: what is lost is made again. */
export interface EdgeStores extends AsyncDisposable {
  readonly counter: Counter;
  readonly onceCache: OnceCache;
  readonly tickets: TicketStore;
  readonly tools: ToolShelf;
}

export interface EdgeStoresOptions {
  readonly config: StoreConfig;
  readonly log: Log;
  /** What Redis is measured by; absent, it is not. */
  readonly registry?: Registry | undefined;
  /** Whom it is reported to that Redis is away; absent, the log alone has it. */
  readonly health?: Health | undefined;
}

/** Opens the stores in Redis, which all replicas share, where `REDIS_URL` is set; else in this process. */
export async function openEdgeStores({ config, ...rest }: EdgeStoresOptions): Promise<EdgeStores> {
  const { REDIS_URL } = config;
  return REDIS_URL === undefined ? openMemoryStores() : openRedisStores({ config: { ...config, REDIS_URL }, ...rest });
}

/** Opens the stores of a gateway that is the only one. */
export function openMemoryStores(): EdgeStores {
  const opened = new AsyncDisposableStack();
  const counter = opened.use(openMemoryCounter());
  const onceCache = opened.use(openMemoryOnceCache());
  const tickets = opened.use(openMemoryTicketStore());
  const tools = opened.use(openMemoryToolShelf());
  return { counter, onceCache, tickets, tools, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

interface RedisStoresOptions extends EdgeStoresOptions {
  readonly config: StoreConfig & { readonly REDIS_URL: string };
}

/** The driver is loaded here, because it is the largest of what a gateway loads and a single process has no use for it. */
async function openRedisStores(options: RedisStoresOptions): Promise<EdgeStores> {
  const { openRedis } = await import('../redis/client.ts');
  const opened = new AsyncDisposableStack();
  const connection = opened.use(await openRedis({ ...options, health: options.health?.part('redis') }));
  const redis = options.registry ? watchRedis(connection, options.registry) : connection;
  const counter = opened.use(withFallback({ shared: openRedisCounter(redis), local: openMemoryCounter() }));
  const onceCache = opened.use(openRedisOnceCache(redis));
  const tickets = opened.use(openRedisTicketStore(redis));
  const tools = opened.use(openRedisToolShelf(redis));
  return { counter, onceCache, tickets, tools, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
