import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import type { State } from '@agent-workflow/protos/threads';
import { LRUCache } from 'lru-cache';
import { jsonText } from '../../http/json.ts';

/** Field name to the JSON text of its default; fields without one are absent. */
export type FieldDefaults = Readonly<Record<string, string>>;

/** Milliseconds. A graph changes only with a new release of the execution service, or of its agent. */
const cacheMs = 10_000;

/** Agents whose defaults are cached. */
const maxAgents = 1000;

const caches = new WeakMap<Execution, LRUCache<string, FieldDefaults>>();

/** The defaults of the fields of a thread's agent; none where there is no such agent any more. */
export async function fieldDefaults(
  execution: Execution,
  { agent }: Pick<State, 'agent'>,
  call: Call,
): Promise<FieldDefaults> {
  const cache = caches.get(execution) ?? new LRUCache({ max: maxAgents, ttl: cacheMs });
  caches.set(execution, cache);
  const name = agent ?? '';
  const known = cache.get(name);
  if (known) return known;
  const defaults = await readDefaults(execution, agent, call);
  cache.set(name, defaults);
  return defaults;
}

async function readDefaults(execution: Execution, agent: string | undefined, call: Call): Promise<FieldDefaults> {
  const graph = await undefinedIfNotFound(execution.getGraph(agent === undefined ? {} : { agent }, call));
  if (!graph) return {};
  const fields = JSON.parse(jsonText(graph.fieldsJson)) as Record<string, { readonly default?: unknown }>;
  const given = Object.entries(fields).filter(([, field]) => field.default !== undefined);
  return Object.fromEntries(given.map(([name, field]) => [name, JSON.stringify(field.default)]));
}
