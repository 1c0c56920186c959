import type { Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import { LRUCache } from 'lru-cache';

/** How long the agents of the service are remembered, in milliseconds. */
const rememberedMs = 10_000;

/** The agents of the service: the default first, the others by name. */
interface KnownAgents {
  readonly names: readonly string[];
  /** Absent where none is configured. */
  readonly defaultName?: string;
}

const caches = new WeakMap<Execution, LRUCache<'agents', KnownAgents>>();

/** The agents that runs may have. */
export async function knownAgents(execution: Execution, call: Call): Promise<KnownAgents> {
  const cache = caches.get(execution) ?? new LRUCache({ max: 1, ttl: rememberedMs });
  caches.set(execution, cache);
  const known = cache.get('agents');
  if (known) return known;
  const { agents } = await execution.listAgents({}, call);
  const byDefault = agents.find(({ isDefault }) => isDefault);
  const read = { names: agents.map(({ name }) => name), ...(byDefault && { defaultName: byDefault.name }) };
  cache.set('agents', read);
  return read;
}
