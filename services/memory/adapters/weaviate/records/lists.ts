import { toListPage } from '../../../record/list-page.ts';
import { byRecency, isWithin } from '../../../record/order.ts';
import type { MemoryHead } from '../../../ports/memory.ts';
import type { ListPage, ListPosition, ListQuery } from '../../../ports/records.ts';
import type { Scope, Weaviate } from '../client/weaviate.ts';
import { shortFields, headFields, objectId, toShortHead, toHead, toHex, toWhere } from '../objects/objects.ts';
import { allOf, countRows, findRows, hasId, type Row, type Where } from '../client/queries.ts';

/** How many heads one request reads without their metadata, and how many with it, of up to 64 KiB each. */
const shortHeadsAtOnce = 1000;
export const headsAtOnce = 250;
/** How many objects one request reads by id, whole: content, metadata and vector. */
const idsAtOnce = 50;

/** A page of a list, and how many memories pass altogether. */
export async function listMemories(weaviate: Weaviate, scope: Scope, query: ListQuery): Promise<ListPage> {
  const { narrowing, accepts, after, offset = 0, limit, without } = query;
  if (narrowing.memoryIds) {
    const heads = await headsByIds(weaviate, scope, query);
    return toListPage(heads.sort(byRecency), { ...query, accepts: undefined });
  }
  const where = toWhere(narrowing);
  if (accepts) return toListPage(newestHeads(weaviate, { scope, where, atOnce: headsAtOnce }), query);
  const isShort = without !== undefined;
  const atOnce = Math.min(Math.max(offset + limit, 16) + 1, isShort ? shortHeadsAtOnce : headsAtOnce);
  const fields = isShort ? shortFields : headFields;
  const heads: MemoryHead[] = [];
  let toSkip = offset;
  for await (const row of newestRows(weaviate, { scope, where, after, atOnce, fields })) {
    if (toSkip > 0) toSkip -= 1;
    else heads.push(isShort ? toShortHead(row) : toHead(row));
    if (heads.length >= limit) break;
  }
  return { heads, total: await countRows(weaviate, { scope, where }) };
}

async function headsByIds(weaviate: Weaviate, scope: Scope, query: ListQuery): Promise<MemoryHead[]> {
  const { owner, narrowing, accepts, without } = query;
  const ids = [...(narrowing.memoryIds ?? [])].map((memoryId) => objectId(owner, memoryId));
  const heads: MemoryHead[] = [];
  for await (const row of eachById(weaviate, { scope, ids, fields: headFields })) {
    const head = toHead(row);
    if (!isWithin(narrowing, head) || accepts?.(head) === false) continue;
    heads.push(without === undefined ? head : toShortHead(row));
  }
  return heads;
}

interface Named {
  readonly scope: Scope;
  readonly ids: readonly string[];
  readonly fields: string;
  /** How many one request reads; more when few fields are read. */
  readonly atOnce?: number;
}

/** The existing objects of these ids, in no order. */
export async function rowsByIds(weaviate: Weaviate, named: Named): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of eachById(weaviate, named)) rows.push(row);
  return rows;
}

/** The same, read lazily: no more than the caller takes. */
export async function* eachById(
  weaviate: Weaviate,
  { scope, ids, fields, atOnce = idsAtOnce }: Named,
): AsyncGenerator<Row> {
  for (let from = 0; from < ids.length; from += atOnce) {
    const where = hasId(ids.slice(from, from + atOnce));
    yield* await findRows(weaviate, { scope, where, fields, limit: atOnce });
  }
}

/** How many objects one request reads when it reads their ids alone. */
export const bareIdsAtOnce = 200;

interface Newest {
  readonly scope: Scope;
  readonly where?: Where | undefined;
  readonly after?: ListPosition | undefined;
  readonly atOnce: number;
  readonly fields?: string;
}

async function* newestHeads(weaviate: Weaviate, newest: Newest): AsyncGenerator<MemoryHead> {
  for await (const row of newestRows(weaviate, newest)) yield toHead(row);
}

/** The objects that meet `where`, newest first, then the greater id. They are read lazily: no more than the caller takes. */
export async function* newestRows(
  weaviate: Weaviate,
  { scope, where, after, atOnce, fields = headFields }: Newest,
): AsyncGenerator<Row> {
  const find = async (condition: Where | undefined, sort: 'at' | 'idHex'): Promise<Row[]> =>
    findRows(weaviate, {
      scope,
      fields,
      limit: atOnce,
      where: allOf([where, condition]),
      sort: { path: sort, order: 'desc' },
    });

  // Weaviate sorts fast by one property only. So rows are read by time, and rows of one timestamp are read again by id.
  let position = after && { at: after.timestamp, idHex: toHex(after.memoryId) };
  for (;;) {
    while (position) {
      const equals: Row[] = await find(allOf([isAt('Equal', position.at), isBelow(position.idHex)]), 'idHex');
      yield* equals;
      const last = equals.at(-1);
      if (equals.length < atOnce || !last) break;
      position = { at: position.at, idHex: String(last['idHex']) };
    }
    const rows: Row[] = await find(position && isAt('LessThan', position.at), 'at');
    const oldest = atOf(rows.at(-1));
    const isWhole = rows.length < atOnce;
    yield* rows.filter((row) => isWhole || atOf(row) > oldest).sort(byAtAndId);
    if (isWhole) return;
    position = { at: oldest, idHex: afterAllHex };
  }
}

/** Sorts after every hex digit. */
const afterAllHex = 'g';

const atOf = (row: Row | undefined): number => Number(row?.['at']);
const byAtAndId = (a: Row, b: Row): number => atOf(b) - atOf(a) || (String(a['idHex']) < String(b['idHex']) ? 1 : -1);

const isAt = (operator: 'Equal' | 'LessThan', valueNumber: number): Where => ({ operator, path: ['at'], valueNumber });
const isBelow = (valueText: string): Where => ({ operator: 'LessThan', path: ['idHex'], valueText });
