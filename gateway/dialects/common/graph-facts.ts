import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import { LRUCache } from 'lru-cache';
import { jsonText } from '../../http/json.ts';

/** Field name to the JSON text of its default; fields without one are absent. */
export type FieldDefaults = Readonly<Record<string, string>>;

/** What replies need to know of a graph. */
interface GraphFacts {
  readonly defaults: FieldDefaults;
  /** The fields that callers only read. */
  readonly readOnly: ReadonlySet<string>;
  /** The fields that it takes as input, and those that it gives out, the conversation as `messages`; absent: all. */
  readonly input?: ReadonlySet<string>;
  readonly output?: ReadonlySet<string>;
  /** The nodes that are graphs themselves. */
  readonly subgraphs: ReadonlySet<string>;
}

/** Milliseconds. A graph changes only with a new release of the execution service, or of its agent. */
const cacheMs = 10_000;

/** Agents of which this is cached. */
const maxAgents = 1000;

const caches = new WeakMap<Execution, LRUCache<string, GraphFacts>>();

/** What is known of the graph of an agent; nothing where there is no such agent any more. */
export async function graphFacts(
  execution: Execution,
  { agent }: { readonly agent?: string | undefined },
  call: Call,
): Promise<GraphFacts> {
  const cache = caches.get(execution) ?? new LRUCache({ max: maxAgents, ttl: cacheMs });
  caches.set(execution, cache);
  const name = agent ?? '';
  const known = cache.get(name);
  if (known) return known;
  const facts = await readFacts(execution, agent, call);
  cache.set(name, facts);
  return facts;
}

interface Drawn {
  readonly nodes?: readonly { readonly id: string; readonly type: string }[];
  readonly subgraphs?: Readonly<Record<string, unknown>>;
  readonly input?: readonly string[];
  readonly output?: readonly string[];
}

async function readFacts(execution: Execution, agent: string | undefined, call: Call): Promise<GraphFacts> {
  const graph = await undefinedIfNotFound(execution.getGraph(agent === undefined ? {} : { agent }, call));
  if (!graph) return { defaults: {}, readOnly: new Set(), subgraphs: new Set() };
  const fields = JSON.parse(jsonText(graph.fieldsJson)) as Record<
    string,
    { readonly default?: unknown; readonly callers?: 'read' }
  >;
  const given = Object.entries(fields).filter(([, field]) => field.default !== undefined);
  const { input, output, nodes = [], subgraphs = {} } = JSON.parse(jsonText(graph.graphJson)) as Drawn;
  const graphs = nodes.filter(({ id, type }) => type === 'graph' || Object.hasOwn(subgraphs, id));
  return {
    defaults: Object.fromEntries(given.map(([name, field]) => [name, JSON.stringify(field.default)])),
    readOnly: new Set(Object.keys(fields).filter((name) => fields[name]?.callers === 'read')),
    ...(input && { input: new Set(input) }),
    ...(output && { output: new Set(output) }),
    subgraphs: new Set(graphs.map(({ id }) => id)),
  };
}

/** The defaults of the fields of a thread's agent. */
export const fieldDefaults = async (...asked: Parameters<typeof graphFacts>): Promise<FieldDefaults> =>
  (await graphFacts(...asked)).defaults;
