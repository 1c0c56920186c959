import { eachOf } from '@agent-workflow/kit/each';
import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import { createQuota } from '@agent-workflow/kit/pages';
import { sizes } from '@agent-workflow/kit/sizes';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { Call } from '@agent-workflow/protos/call';
import type { MemoryItem, SearchRequest } from '@agent-workflow/protos/memory';
import type { Resource, ResourceMark } from '@agent-workflow/protos/threads';
import { fromItemId, idsBelow } from './item-id.ts';
import { depthName, ownerOfMemories, removeMemory, type ItemParts } from './item-memories.ts';
import { isOver, kind, readableContent, toItem, type Item } from './item.ts';
import { refresh, type BeginCall } from './items.ts';

/** What one search looks at, at most: items, and bytes of their values where it has a filter or a query. */
const searched = { items: 10_000, bytes: 64 * 1024 * 1024 } as const;

interface ItemSearch {
  readonly owner: string;
  readonly call: BeginCall;
  /** The items at this namespace and below it. */
  readonly namespace: readonly string[];
  /** Whether a value is meant; absent: each is. */
  readonly passes?: ((value: unknown) => boolean) | undefined;
  /** What is meant, in words; absent: the items come by the time of their last change, the newest first. */
  readonly query?: string | undefined;
  readonly limit: number;
  readonly offset: number;
  /** The time to live of what is found begins again. */
  readonly refreshes: boolean;
}

/** An item that was found, with how near it is to the query; `null` where there is none. */
interface FoundItem extends Item {
  readonly score: number | null;
}

interface FoundItems {
  readonly items: readonly FoundItem[];
  /** Whether there were more items than one search looks at, or more than a reply has room for. */
  readonly isPartial: boolean;
}

/** The items of an owner that a search means, a page of them. One that cannot be read is left out and logged. */
export async function searchItems(parts: ItemParts, search: ItemSearch): Promise<FoundItems> {
  const found = await (search.query === undefined ? newest(parts, search) : nearest(parts, search, search.query));
  const now = found.now;
  if (search.refreshes)
    await eachOf(found.rows, atOnce, ({ resource }) => refresh(parts, resource, now, search.call()));
  return {
    items: found.rows.map(({ resource, score }) => ({ ...toItem(resource), score })),
    isPartial: found.isPartial,
  };
}

/** Items that are read at a time. */
const atOnce = 8;
const marksAtOnce = 1000;
const rowsAtOnce = 100;

interface Row {
  readonly resource: Resource;
  readonly score: number | null;
}

interface Rows {
  readonly rows: readonly Row[];
  readonly isPartial: boolean;
  /** The clock of the record, in milliseconds since 1970. */
  readonly now: number;
}

async function newest(parts: ItemParts, search: ItemSearch): Promise<Rows> {
  const { offset, limit, passes } = search;
  const { marks, now, isPartial } = await (passes ? listPassing(parts, search, passes) : listAlive(parts, search));
  const page = marks
    .toSorted((one, other) => other.updatedAt - one.updatedAt || (one.id < other.id ? 1 : -1))
    .slice(offset, offset + limit);
  const read = await readRows(
    parts,
    search,
    page.map(({ id }) => ({ id, score: null })),
    { now, most: limit },
  );
  return { rows: read.rows, isPartial: isPartial || read.isPartial, now };
}

interface Marks {
  readonly marks: readonly Pick<ResourceMark, 'id' | 'updatedAt'>[];
  readonly isPartial: boolean;
  readonly now: number;
}

type Listed = Pick<ItemSearch, 'owner' | 'call' | 'namespace'>;

/** The items below a namespace, without their values. */
async function listAlive({ threads }: ItemParts, { owner, call, namespace }: Listed): Promise<Marks> {
  const marks: ResourceMark[] = [];
  const { belowId: end, ...range } = idsBelow(namespace);
  let belowId = end;
  for (;;) {
    const page = { kind, owner, limit: marksAtOnce, ...range, ...(belowId !== undefined && { belowId }) } as const;
    const { marks: some, hasMore, now } = await threads.listResourceMarks(page, call());
    marks.push(...some.filter((mark) => !isOver(mark, now)));
    belowId = some.at(-1)?.id;
    const isPartial = hasMore && marks.length >= searched.items;
    if (!hasMore || belowId === undefined || isPartial) return { marks, isPartial, now };
  }
}

/** Those whose values pass a filter. */
async function listPassing(
  parts: ItemParts,
  { owner, call, namespace }: Listed,
  passes: (value: unknown) => boolean,
): Promise<Marks> {
  const { threads } = parts;
  const { now } = await threads.listResourceMarks({ kind, owner, limit: 1, belowId: '!' }, call());
  const yielder = createYielder();
  const marks: Pick<ResourceMark, 'id' | 'updatedAt'>[] = [];
  const isEnough = createQuota(searched.bytes);
  let count = 0;
  const { belowId: end, ...range } = idsBelow(namespace);
  let belowId = end;
  for (;;) {
    const page = { kind, owner, limit: rowsAtOnce, ...range, ...(belowId !== undefined && { belowId }) } as const;
    const { resources, cursor } = await threads.listResources(page, call());
    let isFull = false;
    for (const resource of resources) {
      if (yielder.isDue()) await yielder.yield();
      isFull ||= isEnough(resource.json.byteLength);
      const content = isOver(resource, now) ? undefined : readable(parts, resource);
      if (content && passes(content.value)) marks.push({ id: resource.id, updatedAt: resource.updatedAt });
    }
    count += resources.length;
    belowId = resources.at(-1)?.id;
    const isPartial = cursor !== undefined && (isFull || count >= searched.items);
    if (cursor === undefined || belowId === undefined || isPartial) return { marks, isPartial, now };
  }
}

/** How often an item that cannot be read is logged, in milliseconds, and of how many that is remembered. */
const isFirst = createFirstOfKind({ silentMs: 10 * 60_000, max: 1000 });

/** What an item holds; one that cannot be read is logged. */
function readable({ log }: Pick<ItemParts, 'log'>, resource: Resource): ReturnType<typeof readableContent> {
  const content = readableContent(resource);
  if (!content && isFirst(JSON.stringify([resource.owner, resource.id])))
    log.error({ item: resource.id }, 'an item is left out of a search: it cannot be read');
  return content;
}

interface Wanted {
  readonly id: string;
  readonly score: number | null;
  /** The memory by which it was found. */
  readonly memory?: string;
}

interface Reading {
  readonly now: number;
  /** How many are wanted. */
  readonly most: number;
  /** How many that pass come before those. */
  readonly skip?: number;
  readonly passes?: ((value: unknown) => boolean) | undefined;
}

/** Reads items in their order, until there are as many as are wanted, or as many as one reply has room for. */
async function readRows(
  parts: ItemParts,
  { owner, call }: Pick<ItemSearch, 'owner' | 'call'>,
  wanted: readonly Wanted[],
  { now, most, skip = 0, passes }: Reading,
): Promise<Pick<Rows, 'rows' | 'isPartial'>> {
  const rows: Row[] = [];
  const isReplyFull = createQuota(sizes.page);
  const isEnough = createQuota(searched.bytes);
  let passed = 0;
  for (let from = 0; from < wanted.length; from += atOnce) {
    const some = wanted.slice(from, from + atOnce);
    const read: (Resource | undefined)[] = [];
    await eachOf([...some.entries()], atOnce, async ([index, { id }]) => {
      read[index] = await undefinedIfNotFound(parts.threads.getResource({ kind, owner, id }, call()));
    });
    let isFull = false;
    for (const [index, { score, memory }] of some.entries()) {
      const resource = read[index];
      isFull ||= isEnough(resource?.json.byteLength ?? 0);
      const content = resource && !isOver(resource, now) ? readable(parts, resource) : undefined;
      if (memory !== undefined && content?.memory !== memory) await forget(parts, owner, memory, call());
      else if (resource && content && (!passes || passes(content.value))) {
        passed += 1;
        if (passed <= skip) continue;
        if (isReplyFull(resource.json.byteLength) && rows.length > 0) return { rows, isPartial: true };
        rows.push({ resource, score });
        if (rows.length === most) return { rows, isPartial: false };
      }
    }
    if (isFull) return { rows, isPartial: true };
  }
  return { rows, isPartial: false };
}

/** A memory that no item names any more: the process that replaced it ended before it was removed. */
async function forget(parts: ItemParts, owner: string, memory: string, call: Call): Promise<void> {
  await removeMemory(parts, owner, memory, call).catch((error: unknown) => {
    parts.log.warn({ err: error, memory }, 'a memory of an item that has another one could not be removed');
  });
}

/** Memories that one search by meaning reads at most. */
const mostMemories = 1000;

/** The items whose meaning is nearest to a query, the nearest first. */
async function nearest(parts: ItemParts, search: ItemSearch, query: string): Promise<Rows> {
  const { owner, call, namespace, passes, limit, offset } = search;
  const wanted = passes ? mostMemories : Math.min(offset + limit, mostMemories);
  const [{ results, isCut = false, incompleteSince }, { now }] = await Promise.all([
    parts.memory.search({ ...inWords(owner, namespace, query), limit: wanted }, call()),
    parts.threads.listResourceMarks({ kind, owner, limit: 1, belowId: '!' }, call()),
  ]);
  const hits = results.flatMap(toHit);
  const read = await readRows(parts, search, hits, { now, most: limit, skip: offset, passes });
  const mayLack = isCut || results.length >= mostMemories;
  const isPartial = read.isPartial || incompleteSince !== undefined || (mayLack && read.rows.length < limit);
  return { ...read, isPartial, now };
}

const inWords = (owner: string, namespace: readonly string[], query: string): Omit<SearchRequest, 'limit'> => ({
  ...{ owner: ownerOfMemories(owner), query, scoreThreshold: 0, maxTokens: Number.MAX_SAFE_INTEGER },
  ...{ retrievalStrategy: 'similarity', distanceMetric: 'cosine' },
  selection:
    namespace.length === 0
      ? {}
      : { filtersJson: Buffer.from(JSON.stringify({ [depthName(namespace.length)]: namespace.join('.') })) },
});

function toHit({ memoryId, metadataJson, score }: MemoryItem): readonly Wanted[] {
  const { item } = JSON.parse(Buffer.from(metadataJson).toString()) as { readonly item?: unknown };
  return typeof item === 'string' ? [{ id: item, score, memory: memoryId }] : [];
}

interface NamespaceSearch {
  readonly owner: string;
  readonly call: BeginCall;
  /** What a namespace begins and ends with; `*` is any label. */
  readonly prefix: readonly string[];
  readonly suffix: readonly string[];
  /** Labels of a namespace beyond these are left away. */
  readonly maxDepth?: number | undefined;
  readonly limit: number;
  readonly offset: number;
}

const anyLabel = '*';

/** The namespaces in which an owner has items, in their order. */
export async function listNamespaces(
  parts: Pick<ItemParts, 'threads'>,
  { owner, call, prefix, suffix, maxDepth = Infinity, limit, offset }: NamespaceSearch,
): Promise<{ readonly namespaces: readonly (readonly string[])[]; readonly isPartial: boolean }> {
  const wildcard = prefix.indexOf(anyLabel);
  const head = wildcard === -1 ? prefix : prefix.slice(0, wildcard);
  const { names, isPartial } = await namesBelow(parts, { owner, call, namespace: head });
  const shown = new Map<string, readonly string[]>();
  for (const name of names) {
    const labels = name.split('.');
    if (!matches(labels.slice(0, prefix.length), prefix)) continue;
    if (!matches(labels.slice(Math.max(0, labels.length - suffix.length)), suffix)) continue;
    const some = labels.slice(0, maxDepth);
    shown.set(some.join('.'), some);
  }
  const sorted = [...shown.values()].toSorted(compareLabels);
  return { namespaces: sorted.slice(offset, offset + limit), isPartial };
}

const matches = (labels: readonly string[], wanted: readonly string[]): boolean =>
  labels.length === wanted.length && wanted.every((label, index) => label === anyLabel || label === labels[index]);

function compareLabels(one: readonly string[], other: readonly string[]): number {
  const index = one.findIndex((label, at) => label !== other[at]);
  if (index === -1) return one.length - other.length;
  const [a = '', b] = [one[index], other[index]];
  return b === undefined || a > b ? 1 : -1;
}

/** Pages of items that one list of namespaces reads. */
const mostPages = 100;

/** The namespaces that have items. Once one was seen, its other items are passed over. */
async function namesBelow(
  { threads }: Pick<ItemParts, 'threads'>,
  { owner, call, namespace }: Listed,
): Promise<{ readonly names: ReadonlySet<string>; readonly isPartial: boolean }> {
  const names = new Set<string>();
  const { belowId: end, ...range } = idsBelow(namespace);
  let belowId = end;
  for (let count = 0; count < mostPages; count += 1) {
    const page = { kind, owner, limit: marksAtOnce, ...range, ...(belowId !== undefined && { belowId }) } as const;
    const { marks, hasMore, now } = await threads.listResourceMarks(page, call());
    for (const mark of marks) if (!isOver(mark, now)) names.add(fromItemId(mark.id).namespace.join('.'));
    const last = marks.at(-1)?.id;
    if (!hasMore || last === undefined) return { names, isPartial: false };
    const name = fromItemId(last).namespace.join('.');
    belowId = names.has(name) ? `${name}..` : last;
  }
  return { names, isPartial: true };
}
