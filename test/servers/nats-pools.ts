import { openNats, type NatsOptions } from '@agent-workflow/execution/adapters/nats/nats';
import { accountOf } from '@agent-workflow/execution/adapters/nats/pools/accounts';
import {
  permissionsOf,
  toServerConfig,
  type PoolUser,
} from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { natsSettings, toNatsOptions } from '@agent-workflow/execution/adapters/nats/settings';
import type { HeldAgents } from '@agent-workflow/execution/ports/queue';
import { readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { openNatsCluster } from './nats-cluster.ts';
import { byLoad } from '../by-load.ts';

/** Names the streams of these tests. */
export const poolsPrefix = 'pools';

/** A NATS server with the user `api`, who may do everything, and one for each agent, who may do what a pool of it needs. */
export async function openNatsWithPools(
  agents: readonly string[],
  revisions: readonly string[] = [],
): Promise<AsyncDisposable & { readonly urlOf: (user: string) => string }> {
  const userOf = (agent: string): string => {
    const user: PoolUser = { prefix: poolsPrefix, agents: [agent], revisions };
    return `{ user: "${agent}", password: "x", ${toServerConfig(permissionsOf(user))} }`;
  };
  const users = ['{ user: "api", password: "x" }', ...agents.map(userOf)];
  const server = await openNatsCluster({ servers: 1, lines: `authorization { users: [\n${users.join('\n')}\n] }` });
  return {
    urlOf: (user) => server.url.replace('nats://', `nats://${user}:x@`),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  };
}

/** The same with an account for each agent, whose user may do everything in it. */
export async function openNatsWithAccounts(
  agents: readonly string[],
  revisions: readonly string[] = [],
): Promise<AsyncDisposable & { readonly urlOf: (user: string) => string }> {
  const server = await openNatsCluster({ servers: 1, lines: accountsWith(agents, revisions) });
  return {
    urlOf: (user) => server.url.replace('nats://', `nats://${user}:x@`),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  };
}

/** The lines of a server's configuration with the account of the service, which has the user `api`, and one for each agent. */
export function accountsWith(agents: readonly string[], revisions: readonly string[] = []): string {
  const accounts = agents.map((agent) => {
    const pool = agent.toUpperCase();
    return {
      agent,
      pool,
      ...accountOf({ prefix: poolsPrefix, agents: [agent], revisions }, { service: 'SERVICE', pool }),
    };
  });
  const list = (lines: readonly string[]): string => `[\n${[...new Set(lines)].join('\n')}\n]`;
  return `accounts {
    SERVICE: {
      jetstream: enabled
      users: [{ user: "api", password: "x" }]
      exports: ${list(accounts.flatMap(({ serviceExports }) => serviceExports))}
      imports: ${list(accounts.flatMap(({ serviceImports }) => serviceImports))}
    }
    ${accounts
      .map(
        ({ agent, pool, exports, imports }) =>
          `${pool}: { users: [{ user: "${agent}", password: "x" }], exports: ${list(exports)}, imports: ${list(imports)} }`,
      )
      .join('\n')}
  }`;
}

const retention = 3600;
const leaseMs = 1500;

/** The adapters as a process opens them: of the role `api`, or with `pool` of a worker of a pool. */
export const openNatsAt = (
  url: string,
  pool?: HeldAgents,
  given: Partial<NatsOptions> = {},
  signal: AbortSignal = AbortSignal.timeout(byLoad(30_000)),
): ReturnType<typeof openNats> => {
  const values = readEnv(natsSettings, { NATS_URL: url, NATS_PREFIX: poolsPrefix });
  const log = createLog('test', 'silent');
  const options = toNatsOptions({ values, name: 'test', retention, leaseMs, pool, log });
  return openNats(
    { ...options, answersPools: pool ? undefined : { onRecord: () => Promise.resolve('open') }, ...given },
    signal,
  );
};
