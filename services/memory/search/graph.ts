import type { MemoryType } from '@agent-workflow/protos/lists';
import { fieldOf } from '../record/json.ts';
import type { MemoryHead, MemoryStore } from '../ports/port.ts';
import type { Ranked, Search } from './strategies.ts';

/** What of a search a walk needs. */
type Walk = Pick<Search, 'store' | 'owner' | 'options'>;

/** A relationship memory, as a way between two places. */
interface Way {
  readonly memoryId: string;
  readonly ends: readonly string[];
}

interface Ways {
  /** The place of a memory id or an entity's name: one place for an entity, whichever of the two names it. */
  readonly placeOf: (name: string) => string;
  readonly waysAt: ReadonlyMap<string, readonly Way[]>;
  /** The ids of the memories that stand at a place; ids that no memory has may be among them. */
  readonly standingAt: ReadonlyMap<string, ReadonlySet<string>>;
}

/** How many relationships, and how many entities, one walk looks at: the newest. */
const maxWays = 10_000;
/** How many entities without a name of their own are read, whose name is then their content. */
const maxUnnamed = 1000;

/**
 * Goes from the seeds along relationship memories, each step multiplying the score by `decay`. A place counts with the
 * best score that any way to it has, so that cycles end by themselves; the depth bounds the rest.
 * @returns ids with scores: seeds, the relationships gone along, and what stands where they lead, passing or not.
 */
export async function walkFrom(seeds: readonly Ranked[], walk: Walk): Promise<Map<string, number>> {
  const reached = new Map(seeds.map(({ head, score }) => [head.memoryId, score]));
  const { depth, decay } = walk.options;
  if (depth === 0 || seeds.length === 0) return reached;
  const { placeOf, waysAt, standingAt } = await readWays(walk);

  const scores = new Map<string, number>();
  let frontier = new Set<string>();
  for (const { head, score } of seeds) {
    for (const name of [head.memoryId, ...endsOf(head)])
      if (raise(scores, placeOf(name), score)) frontier.add(placeOf(name));
  }
  for (let step = 0; step < depth && frontier.size > 0; step += 1) {
    const before = new Map([...frontier].map((place) => [place, scores.get(place) ?? 0]));
    frontier = new Set();
    for (const [place, score] of before) {
      for (const way of waysAt.get(place) ?? []) {
        raise(reached, way.memoryId, score * decay);
        for (const end of way.ends) if (raise(scores, end, score * decay)) frontier.add(end);
      }
    }
  }
  for (const [place, score] of scores) {
    for (const memoryId of standingAt.get(place) ?? []) raise(reached, memoryId, score);
  }
  return reached;
}

async function readWays(walk: Walk): Promise<Ways> {
  const [relationships, names] = await Promise.all([listOf(walk, 'relationship'), readEntityNames(walk)]);
  const placeOf = (name: string): string => fold(names.get(name) ?? name);
  const waysAt = new Map<string, Way[]>();
  const standingAt = new Map<string, Set<string>>();
  for (const memoryId of names.keys()) addTo(standingAt, placeOf(memoryId), memoryId);
  for (const head of relationships) {
    const ends = endsOf(head);
    const way = { memoryId: head.memoryId, ends: ends.map(placeOf) };
    for (const place of new Set(way.ends)) addWay(waysAt, place, way);
    for (const name of ends) addTo(standingAt, placeOf(name), name);
  }
  return { placeOf, waysAt, standingAt };
}

/** Entity memories by id: `metadata.name`, else the content. */
async function readEntityNames(walk: Walk): Promise<Map<string, string>> {
  const entities = await listOf(walk, 'entity');
  const names = new Map<string, string>();
  const unnamed: string[] = [];
  for (const { memoryId, metadata } of entities) {
    const name = fieldOf(metadata, 'name');
    if (typeof name === 'string') names.set(memoryId, name);
    else if (unnamed.length < maxUnnamed) unnamed.push(memoryId);
  }
  for (const { memoryId, content } of await walk.store.get(walk.owner, unnamed)) names.set(memoryId, content);
  return names;
}

async function listOf(
  { store, owner }: { store: MemoryStore; owner: string },
  memoryType: MemoryType,
): Promise<readonly MemoryHead[]> {
  return (await store.list({ owner, narrowing: { memoryType }, limit: maxWays })).heads;
}

/** What a relationship memory connects. */
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

function addWay(ways: Map<string, Way[]>, place: string, way: Way): void {
  const here = ways.get(place);
  if (here) here.push(way);
  else ways.set(place, [way]);
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}
