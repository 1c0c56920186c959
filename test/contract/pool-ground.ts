import { createHash } from 'node:crypto';
import { readEnv } from '@agent-workflow/kit/env';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';
import { createGrants, type Grants } from '@agent-workflow/protos/grants';
import { connect } from '@agent-workflow/protos/wire/connect';
import type { Threads } from '@agent-workflow/protos/threads';
import { definitionOf, methodName, type Context, type Services } from '@agent-workflow/protos/wire/definitions';
import type { Pool, PoolAccess } from '@agent-workflow/protos/wire/pool-gate';
import { serve } from '@agent-workflow/protos/wire/serve';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { createThreads } from '@agent-workflow/threads/threads';

export const platformToken = 'the token of the platform';
export const grantSecrets = ['a secret that threads and memory share'] as const;

interface PoolGroundOptions {
  /** The agents of each pool by its name. The token of a pool is {@link tokenOf} its name. */
  readonly pools: Readonly<Record<string, readonly string[]>>;
  readonly execution?: Services['execution'];
  /** Called with each call that comes through to a service. */
  readonly onReached?: (method: string) => void;
  /** In milliseconds since 1970: the clock of the grants. */
  readonly now?: () => number;
  /** What one pool may take; those that are absent are wide. */
  readonly bounds?: Partial<Limiting['bounds']>;
  /** In place of those that are opened. */
  readonly services?: Partial<Services>;
}

type Limiting = NonNullable<PoolAccess['limiting']>;
type Limited = Parameters<Limiting['onLimited']>[0];

const wideBounds: Limiting['bounds'] = { calls: 10_000, bytes: 64 * 1024 * 1024, callsPerSecond: 10_000 };

/** The services behind real gRPC servers that know pools. */
interface PoolGround extends AsyncDisposable {
  /** A service as it is called with this token. */
  readonly as: <C extends Context>(context: C, token: string) => Services[C];
  /** Where they are: `host:port`. */
  readonly address: string;
  readonly grants: Grants;
  readonly refusals: { readonly pool: string; readonly method: string; readonly reason: string }[];
  /** What was refused for what a request holds. */
  readonly misfits: string[];
  /** What was refused for now, because a pool had too much of this. */
  readonly limited: Pick<Limited, 'pool' | 'bound'>[];
  /** The pool is no longer known. */
  readonly remove: (pool: string) => void;
}

export const tokenOf = (pool: string): string => `the token of ${pool}`;

/** A service of which only these methods are called. */
export const threadsWith = (called: Partial<Threads>): Threads => ({
  ...(Object.fromEntries(
    Object.keys(definitionOf('threads')).map((rpc) => [methodName(rpc), () => Promise.reject(new Error(rpc))]),
  ) as unknown as Threads),
  ...called,
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export async function openPoolGround({
  pools,
  execution,
  onReached = () => undefined,
  now = Date.now,
  bounds,
  services: others,
}: PoolGroundOptions): Promise<PoolGround> {
  await using opening = new AsyncDisposableStack();
  const store = opening.use(openSqliteThreadStore({ path: ':memory:' }));
  const memory = opening.use(await openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) }));
  const known = new Map<string, Pool>(
    Object.entries(pools).map(([name, agents]) => [sha256(tokenOf(name)), { name, agents: new Set(agents) }]),
  );
  const grants = createGrants([...grantSecrets], now);
  const refusals: PoolGround['refusals'] = [];
  const misfits: string[] = [];
  const limited: PoolGround['limited'] = [];
  const security = {
    token: platformToken,
    pools: {
      poolOf: (hash: string) => known.get(hash),
      grants,
      onRefused: (refusal: (typeof refusals)[number]) => void refusals.push(refusal),
      onMisfit: ({ pool, method, error }: Misfit) => void misfits.push(`${pool} ${method} ${error.message}`),
      limiting: {
        bounds: { ...wideBounds, ...bounds },
        onLimited: ({ pool, bound }: Limited) => void limited.push({ pool, bound }),
      },
    },
  };
  const options = { host: '127.0.0.1', port: 0, drainMs: 1000, onFailure: () => undefined, security };
  const services = {
    ...{ threads: createThreads({ store }), memory: memory.memory, ...others },
    ...(execution && { execution }),
  };
  const watched = Object.fromEntries(
    Object.entries(services).map(([context, service]) => [context, reporting(context, service, onReached)]),
  );
  const server = opening.use(await serve(watched as Partial<Services>, options));
  const opened = opening.move();
  return {
    as: (context, token) => opened.use(connect(context, server.address, { token })),
    address: server.address,
    grants,
    refusals,
    misfits,
    limited,
    remove: (pool) => void known.delete(sha256(tokenOf(pool))),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type Misfit = Parameters<PoolAccess['onMisfit']>[0];

type AnyMethod = (...args: readonly unknown[]) => unknown;

const reporting = (context: string, service: object, onReached: (method: string) => void): object =>
  Object.fromEntries(
    Object.entries(service).map(([name, method]: [string, AnyMethod]) => [
      name,
      (...args: readonly unknown[]) => {
        onReached(`${context}.${name}`);
        return method(...args);
      },
    ]),
  );
