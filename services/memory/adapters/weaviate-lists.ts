import { byRecency, isWithin } from '../order.ts';
import type { ListMark, ListPage, ListQuery, MemoryHead, StoreQuery } from '../port.ts';
import type { Home, Weaviate } from './weaviate-client.ts';
import { headFields, objectId, toHead, toHex, toWhere } from './weaviate-objects.ts';
import { allOf, countRows, findRows, hasId, type Row, type Where } from './weaviate-queries.ts';

/** How many objects one request reads at most, without and with their vectors. */
const headsAtOnce = 1000;
const idsAtOnce = 200;

/** A page of a list, and how many pass altogether. */
export async function listMemories(weaviate: Weaviate, home: Home, query: ListQuery): Promise<ListPage> {
  const { narrowing, accepts, after, offset = 0, limit } = query;
  if (narrowing.memoryIds) return pageOf((await headsByIds(weaviate, home, query)).sort(byRecency), query);
  const where = toWhere(narrowing);
  if (accepts) return pageOf(newestHeads(weaviate, { home, where, atOnce: headsAtOnce }), query);
  const atOnce = Math.min(Math.max(offset + limit, 16) + 1, headsAtOnce);
  const heads: MemoryHead[] = [];
  let toSkip = offset;
  for await (const head of newestHeads(weaviate, { home, where, after, atOnce })) {
    if (toSkip > 0) toSkip -= 1;
    else heads.push(head);
    if (heads.length >= limit) break;
  }
  return { heads, total: await countRows(weaviate, { home, where }) };
}

/** The page of heads that come newest first, and how many of them pass. */
async function pageOf(
  heads: Iterable<MemoryHead> | AsyncIterable<MemoryHead>,
  { accepts, after, offset = 0, limit }: ListQuery,
): Promise<ListPage> {
  const page: MemoryHead[] = [];
  let total = 0;
  let toSkip = offset;
  for await (const head of heads) {
    if (accepts && !accepts(head)) continue;
    total += 1;
    if (page.length >= limit || (after && byRecency(head, after) <= 0)) continue;
    if (toSkip > 0) toSkip -= 1;
    else page.push(head);
  }
  return { heads: page, total };
}

async function headsByIds(weaviate: Weaviate, home: Home, { owner, narrowing }: StoreQuery): Promise<MemoryHead[]> {
  const rows = await rowsByIds(weaviate, {
    home,
    ids: [...(narrowing.memoryIds ?? [])].map((memoryId) => objectId(owner, memoryId)),
    fields: headFields,
  });
  return rows.map(toHead).filter((head) => isWithin(narrowing, head));
}

/** The objects of these ids that are there, in no order. */
export async function rowsByIds(
  weaviate: Weaviate,
  { home, ids, fields }: { readonly home: Home; readonly ids: readonly string[]; readonly fields: string },
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const where = hasId(ids.slice(from, from + idsAtOnce));
    rows.push(...(await findRows(weaviate, { home, where, fields, limit: idsAtOnce })));
  }
  return rows;
}

interface Newest {
  readonly home: Home;
  readonly where?: Where | undefined;
  readonly after?: ListMark | undefined;
  readonly atOnce: number;
  readonly fields?: string;
}

async function* newestHeads(weaviate: Weaviate, newest: Newest): AsyncGenerator<MemoryHead> {
  for await (const row of newestRows(weaviate, newest)) yield toHead(row);
}

/** The objects that meet `where`, newest first, then the greater id, read as far as the caller goes. */
export async function* newestRows(
  weaviate: Weaviate,
  { home, where, after, atOnce, fields = headFields }: Newest,
): AsyncGenerator<Row> {
  const find = async (condition: Where | undefined, sort: 'at' | 'idHex'): Promise<Row[]> =>
    findRows(weaviate, {
      home,
      fields,
      limit: atOnce,
      where: allOf([where, condition]),
      sort: { path: sort, order: 'desc' },
    });

  // Weaviate is fast by one property alone. So it goes by time, and those of one moment are read again, by id.
  let mark = after && { at: after.timestamp, idHex: toHex(after.memoryId) };
  for (;;) {
    while (mark) {
      const equals: Row[] = await find(allOf([isAt('Equal', mark.at), isBelow(mark.idHex)]), 'idHex');
      yield* equals;
      const last = equals.at(-1);
      if (equals.length < atOnce || !last) break;
      mark = { at: mark.at, idHex: String(last['idHex']) };
    }
    const rows: Row[] = await find(mark && isAt('LessThan', mark.at), 'at');
    const oldest = atOf(rows.at(-1));
    const isWhole = rows.length < atOnce;
    yield* rows.filter((row) => isWhole || atOf(row) > oldest).sort(byAtAndId);
    if (isWhole) return;
    mark = { at: oldest, idHex: afterAllHex };
  }
}

/** Greater than any hex digit. */
const afterAllHex = 'g';

const atOf = (row: Row | undefined): number => Number(row?.['at']);
const byAtAndId = (a: Row, b: Row): number => atOf(b) - atOf(a) || (String(a['idHex']) < String(b['idHex']) ? 1 : -1);

const isAt = (operator: 'Equal' | 'LessThan', valueNumber: number): Where => ({ operator, path: ['at'], valueNumber });
const isBelow = (valueText: string): Where => ({ operator: 'LessThan', path: ['idHex'], valueText });
