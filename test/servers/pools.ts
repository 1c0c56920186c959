import { registerFrom } from '@agent-workflow/execution/register';
import type { Env } from '@agent-workflow/kit/env';
import { makeWorkspace, serviceOf, type Workspace } from './standalone.ts';

/** Workers that hold one agent at one revision. */
interface Pool {
  readonly agent: string;
  readonly revision: string;
  /** Its `service.json` and its revision. */
  readonly env: Readonly<Record<string, string>>;
}

/** A service whose agents are in worker pools. */
export interface Pools extends AsyncDisposable {
  /** Of the processes without code of agents. */
  readonly workspace: Workspace;
  /** In the order in which they are registered: the last revision of an agent becomes its current one. */
  readonly pools: readonly Pool[];
}

const earlier = 'v1';
const current = 'v2';

/**
 * Places each agent of a service into a pool of its own, and the default agent, or else the first, into one more: at the revision before, which
 * is draining. `agent` and `service` are those of {@link serviceOf}.
 */
export async function makePools(agent: string | null, service: Readonly<Record<string, unknown>> = {}): Promise<Pools> {
  const { agent: only, agents = agentsOf(only), default_agent: given, ...rest } = serviceOf(agent, service);
  const held = Object.entries(agents as Readonly<Record<string, unknown>>);
  const first = held[0]?.[0] ?? '';
  const fallback = given === undefined && held.length === 1 ? first : given;
  const names = held.flatMap(([name]) => (name === (fallback ?? first) ? [[name, earlier] as const] : []));
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(
    await makeWorkspace(null, { ...rest, agent: null, ...(fallback === undefined ? {} : { default_agent: fallback }) }),
  );
  const pools: Pool[] = [];
  for (const [name, revision] of [...names, ...held.map(([each]) => [each, current] as const)]) {
    const { env } = opened.use(await makeWorkspace(null, { agents: { [name]: Object.fromEntries(held)[name] } }));
    pools.push({ agent: name, revision, env: { ...env, AGENT_REVISION: revision } });
  }
  const everything = opened.move();
  return { workspace, pools, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

const agentsOf = (only: unknown): object => (typeof only === 'string' ? { default: only } : {});

/** Registers the agents of the pools, as the Jobs of their charts do: each pool makes its revision the current one. */
export async function registerPools({ pools }: Pick<Pools, 'pools'>, env: Env): Promise<void> {
  for (const { env: own } of pools) await registerFrom({ ...env, ...own }, 'auto');
}
