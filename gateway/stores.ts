import type { Health } from '@agent-workflow/runtime/health';
import type { Log } from '@agent-workflow/kit/log';
import type { Registry } from '@agent-workflow/runtime/metrics';
import { type Counter, openInProcessCounter, openRedisCounter, withFallback } from './limits/index.ts';
import { measureRedis } from './redis/metrics.ts';
import { type ReplyCache, openInProcessReplyCache, openRedisReplyCache } from './idempotency/index.ts';
import { openInProcessTicketStore, openRedisTicketStore, type TicketStore } from './tickets/index.ts';
import { openInProcessToolStore, openRedisToolStore, type ToolStore } from './tools/index.ts';
import type { RedisConfig } from './redis/settings.ts';

/** Everything that the gateway stores. None of it is a record: what is lost can be made again. */
export interface GatewayStores extends AsyncDisposable {
  readonly counter: Counter;
  readonly replyCache: ReplyCache;
  readonly tickets: TicketStore;
  readonly tools: ToolStore;
}

interface GatewayStoresOptions {
  readonly config: RedisConfig;
  readonly log: Log;
  /** For the metrics of Redis; absent: none. */
  readonly registry?: Registry | undefined;
  /** Gets the reports that Redis is unavailable or back; absent: they are only logged. */
  readonly health?: Health | undefined;
}

/** Opens the stores in Redis, which all replicas share, or in this process when `REDIS_URL` is not set. */
export async function openGatewayStores({ config, ...rest }: GatewayStoresOptions): Promise<GatewayStores> {
  const { REDIS_URL } = config;
  return REDIS_URL === undefined ? stores.inProcess() : stores.redis({ config: { ...config, REDIS_URL }, ...rest });
}

/** Opens the stores of a gateway that is the only replica. */
export function openInProcessStores(): GatewayStores {
  const opened = new AsyncDisposableStack();
  const counter = opened.use(openInProcessCounter());
  const replyCache = opened.use(openInProcessReplyCache());
  const tickets = opened.use(openInProcessTicketStore());
  const tools = opened.use(openInProcessToolStore());
  return { counter, replyCache, tickets, tools, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

interface RedisStoresOptions extends GatewayStoresOptions {
  readonly config: RedisConfig & { readonly REDIS_URL: string };
}

/** The driver is imported here, because it is the largest dependency and a single process does not need it. */
async function openRedisStores(options: RedisStoresOptions): Promise<GatewayStores> {
  const { openRedis } = await import('./redis/client.ts');
  const opened = new AsyncDisposableStack();
  const connection = opened.use(await openRedis({ ...options, health: options.health?.part('redis') }));
  const redis = options.registry ? measureRedis(connection, options.registry) : connection;
  const counter = opened.use(withFallback({ shared: openRedisCounter(redis), local: openInProcessCounter() }));
  const replyCache = opened.use(openRedisReplyCache(redis));
  const tickets = opened.use(openRedisTicketStore(redis));
  const tools = opened.use(openRedisToolStore(redis));
  return { counter, replyCache, tickets, tools, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The registry of stores. Another store is an adapter in each of the four folders, and one line here. */
const stores = { inProcess: openInProcessStores, redis: openRedisStores };
