import type { Health } from '@agent-workflow/runtime/health';
import type { Log } from '@agent-workflow/kit/log';
import type { Registry } from '@agent-workflow/runtime/metrics';
import { type Counter, openMemoryCounter, openRedisCounter, withFallback } from './limits/index.ts';
import { watchRedis } from './redis/metrics.ts';
import { type OnceCache, openMemoryOnceCache, openRedisOnceCache } from './idempotency/index.ts';
import { openMemoryTicketStore, openRedisTicketStore, type TicketStore } from './tickets/index.ts';
import { openMemoryToolShelf, openRedisToolShelf, type ToolShelf } from './tools/index.ts';
import type { StoreConfig } from './redis/settings.ts';

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

/** Opens them where `REDIS_URL` says: in Redis, which all replicas share, or, while it is unset, in this process. */
export async function openEdgeStores({ config, ...rest }: EdgeStoresOptions): Promise<EdgeStores> {
  const { REDIS_URL } = config;
  return REDIS_URL === undefined ? stores.memory() : stores.redis({ config: { ...config, REDIS_URL }, ...rest });
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
  const { openRedis } = await import('./redis/client.ts');
  const opened = new AsyncDisposableStack();
  const connection = opened.use(await openRedis({ ...options, health: options.health?.part('redis') }));
  const redis = options.registry ? watchRedis(connection, options.registry) : connection;
  const counter = opened.use(withFallback({ shared: openRedisCounter(redis), local: openMemoryCounter() }));
  const onceCache = opened.use(openRedisOnceCache(redis));
  const tickets = opened.use(openRedisTicketStore(redis));
  const tools = opened.use(openRedisToolShelf(redis));
  return { counter, onceCache, tickets, tools, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Where the edge can keep what it keeps: another store is an adapter in each of the four folders, and one line here. */
const stores = { memory: openMemoryStores, redis: openRedisStores };
