import type { MemoryType } from '@agent-workflow/protos/lists';
import type { MemoryHead } from '../ports/memory.ts';
import type { MemoryRecords } from '../ports/records.ts';
import { fieldOf } from '../record/json.ts';
import type { SearchOptions } from '../record/options.ts';

// The graph of an owner's memories. Its nodes are names: the ids of memories, and the names of entities. Its edges are the
// relationship memories, each between the names in its `metadata.source` and `metadata.target`.

interface Traversal {
  readonly store: Pick<MemoryRecords, 'get' | 'list'>;
  readonly owner: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  readonly options: Pick<SearchOptions, 'depth' | 'decay'>;
}

/** A memory that the traversal begins at. */
interface Seed {
  readonly head: MemoryHead;
  readonly score: number;
}

/** A relationship memory and the nodes that it connects. */
interface Edge {
  readonly memoryId: string;
  readonly ends: readonly string[];
}

interface Graph {
  /** The node of a memory id or an entity's name. An entity has one node, whichever of the two names it. */
  readonly nodeOf: (name: string) => string;
  readonly edgesAt: ReadonlyMap<string, readonly Edge[]>;
  /** The ids of the memories at a node; ids that no memory has may be among them. */
  readonly memoriesAt: ReadonlyMap<string, ReadonlySet<string>>;
}

/** How many relationships, and how many entities, one traversal reads: the newest. */
const maxMemories = 10_000;
/** How many entities without `metadata.name` are read for their content, which is then their name. */
const maxUnnamed = 1000;

/**
 * Follows relationship memories from the seeds; each step multiplies the score by `decay`. A node has the best score of all ways
 * to it, so cycles end by themselves, and `depth` bounds the rest.
 * @returns the scores by id of the seeds, the relationships, and the memories that they lead to, whether they pass filters or not.
 */
export async function traverseFrom(seeds: readonly Seed[], traversal: Traversal): Promise<Map<string, number>> {
  const reached = new Map(seeds.map(({ head, score }) => [head.memoryId, score]));
  const { depth, decay } = traversal.options;
  if (depth === 0 || seeds.length === 0) return reached;
  const { nodeOf, edgesAt, memoriesAt } = await readGraph(traversal);

  const scores = new Map<string, number>();
  let frontier = new Set<string>();
  for (const { head, score } of seeds) {
    for (const name of [head.memoryId, ...endsOf(head)])
      if (raise(scores, nodeOf(name), score)) frontier.add(nodeOf(name));
  }
  for (let step = 0; step < depth && frontier.size > 0; step += 1) {
    const before = new Map([...frontier].map((node) => [node, scores.get(node) ?? 0]));
    frontier = new Set();
    for (const [node, score] of before) {
      for (const edge of edgesAt.get(node) ?? []) {
        raise(reached, edge.memoryId, score * decay);
        for (const end of edge.ends) if (raise(scores, end, score * decay)) frontier.add(end);
      }
    }
  }
  for (const [node, score] of scores) {
    for (const memoryId of memoriesAt.get(node) ?? []) raise(reached, memoryId, score);
  }
  return reached;
}

async function readGraph(traversal: Traversal): Promise<Graph> {
  const [relationships, names] = await Promise.all([listOf(traversal, 'relationship'), readEntityNames(traversal)]);
  const nodeOf = (name: string): string => fold(names.get(name) ?? name);
  const edgesAt = new Map<string, Edge[]>();
  const memoriesAt = new Map<string, Set<string>>();
  for (const memoryId of names.keys()) addTo(memoriesAt, nodeOf(memoryId), memoryId);
  for (const head of relationships) {
    const connected = endsOf(head);
    const edge = { memoryId: head.memoryId, ends: connected.map(nodeOf) };
    for (const node of new Set(edge.ends)) addEdge(edgesAt, node, edge);
    for (const name of connected) addTo(memoriesAt, nodeOf(name), name);
  }
  return { nodeOf, edgesAt, memoriesAt };
}

/** The names of entity memories by id: `metadata.name`, else the content. */
async function readEntityNames(traversal: Traversal): Promise<Map<string, string>> {
  const entities = await listOf(traversal, 'entity');
  const names = new Map<string, string>();
  const unnamed: string[] = [];
  for (const { memoryId, metadata } of entities) {
    const name = fieldOf(metadata, 'name');
    if (typeof name === 'string') names.set(memoryId, name);
    else if (unnamed.length < maxUnnamed) unnamed.push(memoryId);
  }
  for (const { memoryId, content } of await traversal.store.get(traversal.owner, unnamed)) names.set(memoryId, content);
  return names;
}

async function listOf({ store, owner, now }: Traversal, memoryType: MemoryType): Promise<readonly MemoryHead[]> {
  return (await store.list({ owner, narrowing: { memoryType, aliveAt: now }, limit: maxMemories })).heads;
}

/** The names that a relationship memory connects; none for other memories. */
const endsOf = ({ memoryType, metadata }: MemoryHead): string[] =>
  memoryType === 'relationship'
    ? [fieldOf(metadata, 'source'), fieldOf(metadata, 'target')].filter((name) => typeof name === 'string')
    : [];

const fold = (name: string): string => name.trim().toLowerCase();

function raise(scores: Map<string, number>, key: string, score: number): boolean {
  if (score <= (scores.get(key) ?? 0)) return false;
  scores.set(key, score);
  return true;
}

function addEdge(edges: Map<string, Edge[]>, node: string, edge: Edge): void {
  const here = edges.get(node);
  if (here) here.push(edge);
  else edges.set(node, [edge]);
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}
