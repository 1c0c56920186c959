import { toListPage } from '../../../record/list-page.ts';
import { byRecency, isWithin } from '../../../record/order.ts';
import type { MemoryHead } from '../../../ports/memory.ts';
import type { ListPage, ListQuery } from '../../../ports/records.ts';
import { allOf, countRows, hasNoneOf, type Row, type Where } from '../client/queries.ts';
import type { Scope } from '../client/weaviate.ts';
import { expiredBy, headFields, objectId, shortFields, toHead, toShortHead, toWhere } from '../objects/objects.ts';
import { eachById, type Reads } from './by-id.ts';
import { newestRows } from './newest.ts';

/** How many heads one request reads without their metadata, and how many with it, of up to 64 KiB each. */
const shortHeadsAtOnce = 1000;
export const headsAtOnce = 250;

/** A page of a list, and how many memories pass altogether. */
export async function listMemories(reads: Reads, scope: Scope, query: ListQuery): Promise<ListPage> {
  const { narrowing, accepts, after, offset = 0, limit, without } = query;
  if (narrowing.memoryIds) {
    const heads = await headsByIds(reads, scope, query);
    return toListPage(heads.sort(byRecency), { ...query, accepts: undefined });
  }
  const isShort = without !== undefined && !accepts;
  const wanted = offset + limit;
  const where = toWhere(narrowing);
  const indexed = accepts ? 0 : await countAlive(reads, scope, query);
  const { rows, missed, replaced } = newestRows(reads, {
    scope,
    where,
    // With `accepts` every memory is counted, so all of them are read.
    after: accepts ? undefined : after,
    atOnce: accepts ? headsAtOnce : Math.min(Math.max(wanted, 16) + 1, isShort ? shortHeadsAtOnce : headsAtOnce),
    atOnceById: isShort ? shortHeadsAtOnce : headsAtOnce,
    fields: isShort ? shortFields : headFields,
  });
  const heads: MemoryHead[] = [];
  let passing = 0;
  const isPassing = (head: MemoryHead): boolean => isWithin(narrowing, head) && accepts?.(head) !== false;
  const take = (row: Row): void => {
    const head = isShort ? toShortHead(row) : toHead(row);
    if (!isPassing(head)) return;
    passing += 1;
    if (!after || byRecency(head, after) > 0) heads.push(without === undefined ? head : { ...head, metadata: {} });
  };
  for await (const row of rows) {
    if (heads.length < wanted) take(row);
    else if (accepts) passing += isPassing(toHead(row)) ? 1 : 0;
    if (heads.length >= wanted && !accepts) break;
  }
  for await (const row of missed()) take(row);
  const page = heads.sort(byRecency).slice(offset, wanted);
  if (accepts) return { heads: page, total: passing };
  const isCounted = !where || (await replaced()).size === 0;
  return { heads: page, total: isCounted ? indexed : await countAll(reads, scope, query) };
}

/** How often two counts may disagree. */
const maxCounts = 3;

/**
 * How many memories are within the narrowing, while some are being replaced. A count by the index leaves these out; the count of the
 * others and of what was replaced lately may have some of them twice. Where both are the same they are right. Memories that are stored
 * or removed meanwhile make them different, too; then it is the largest count by the index.
 */
async function countAll(reads: Reads, scope: Scope, query: ListQuery): Promise<number> {
  const { changes } = reads;
  const { narrowing } = query;
  let most = 0;
  for (let counts = 0; counts < maxCounts; counts += 1) {
    const indexed = await countAlive(reads, scope, query);
    const ids = [...(await changes.recent(scope.tenant ?? '')).replaced];
    let whole = ids.length === 0 ? indexed : await countAlive(reads, scope, query, hasNoneOf(ids));
    for await (const row of eachById(reads, { scope, ids, fields: shortFields, atOnce: shortHeadsAtOnce })) {
      if (isWithin(narrowing, toShortHead(row))) whole += 1;
    }
    if (whole === indexed) return indexed;
    most = Math.max(most, indexed);
  }
  return most;
}

/** How many memories the index has within the narrowing that have not expired. */
async function countAlive(
  { weaviate }: Reads,
  scope: Scope,
  { narrowing }: ListQuery,
  beside?: Where,
): Promise<number> {
  const where = allOf([toWhere(narrowing), beside]);
  const { aliveAt } = narrowing;
  const [all, expired] = await Promise.all([
    countRows(weaviate, { scope, where }),
    aliveAt === undefined ? 0 : countRows(weaviate, { scope, where: allOf([where, expiredBy(aliveAt)]) }),
  ]);
  return all - expired;
}

async function headsByIds(reads: Reads, scope: Scope, query: ListQuery): Promise<MemoryHead[]> {
  const { owner, narrowing, accepts, without } = query;
  const ids = [...(narrowing.memoryIds ?? [])].map((memoryId) => objectId(owner, memoryId));
  const heads: MemoryHead[] = [];
  for await (const row of eachById(reads, { scope, ids, fields: headFields })) {
    const head = toHead(row);
    if (!isWithin(narrowing, head) || accepts?.(head) === false) continue;
    heads.push(without === undefined ? head : toShortHead(row));
  }
  return heads;
}
