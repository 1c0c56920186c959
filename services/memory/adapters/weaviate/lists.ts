import { byRecency, isWithin } from '../../record/order.ts';
import type { ListMark, ListPage, ListQuery, MemoryHead } from '../../ports/port.ts';
import type { Home, Weaviate } from './client.ts';
import { briefFields, headFields, objectId, toBriefHead, toHead, toHex, toWhere } from './objects.ts';
import { allOf, countRows, findRows, hasId, type Row, type Where } from './queries.ts';

/** How many objects one request reads at most: of those with their metadata, of up to 64 KiB each, fewer. */
const briefHeadsAtOnce = 1000;
export const headsAtOnce = 250;
/** And of those that are named, of which the whole may be read: content, metadata and vector. */
const idsAtOnce = 50;

/** A page of a list, and how many pass altogether. */
export async function listMemories(weaviate: Weaviate, home: Home, query: ListQuery): Promise<ListPage> {
  const { narrowing, accepts, after, offset = 0, limit, without } = query;
  if (narrowing.memoryIds) {
    const heads = await headsByIds(weaviate, home, query);
    return pageOf(heads.sort(byRecency), { ...query, accepts: undefined });
  }
  const where = toWhere(narrowing);
  if (accepts) return pageOf(newestHeads(weaviate, { home, where, atOnce: headsAtOnce }), query);
  const isBrief = without !== undefined;
  const atOnce = Math.min(Math.max(offset + limit, 16) + 1, isBrief ? briefHeadsAtOnce : headsAtOnce);
  const fields = isBrief ? briefFields : headFields;
  const heads: MemoryHead[] = [];
  let toSkip = offset;
  for await (const row of newestRows(weaviate, { home, where, after, atOnce, fields })) {
    if (toSkip > 0) toSkip -= 1;
    else heads.push(isBrief ? toBriefHead(row) : toHead(row));
    if (heads.length >= limit) break;
  }
  return { heads, total: await countRows(weaviate, { home, where }) };
}

/** The page of heads that come newest first, and how many of them pass. */
async function pageOf(
  heads: Iterable<MemoryHead> | AsyncIterable<MemoryHead>,
  { accepts, after, offset = 0, limit, without }: ListQuery,
): Promise<ListPage> {
  const page: MemoryHead[] = [];
  let total = 0;
  let toSkip = offset;
  for await (const head of heads) {
    if (accepts && !accepts(head)) continue;
    total += 1;
    if (page.length >= limit || (after && byRecency(head, after) <= 0)) continue;
    if (toSkip > 0) toSkip -= 1;
    else page.push(without === undefined ? head : { ...head, metadata: {} });
  }
  return { heads: page, total };
}

async function headsByIds(weaviate: Weaviate, home: Home, query: ListQuery): Promise<MemoryHead[]> {
  const { owner, narrowing, accepts, without } = query;
  const ids = [...(narrowing.memoryIds ?? [])].map((memoryId) => objectId(owner, memoryId));
  const heads: MemoryHead[] = [];
  for await (const row of eachById(weaviate, { home, ids, fields: headFields })) {
    const head = toHead(row);
    if (!isWithin(narrowing, head) || accepts?.(head) === false) continue;
    heads.push(without === undefined ? head : toBriefHead(row));
  }
  return heads;
}

interface Named {
  readonly home: Home;
  readonly ids: readonly string[];
  readonly fields: string;
  /** How many one request reads; more, where little is read of each. */
  readonly atOnce?: number;
}

/** The objects of these ids that are there, in no order. */
export async function rowsByIds(weaviate: Weaviate, named: Named): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of eachById(weaviate, named)) rows.push(row);
  return rows;
}

/** The same, read as far as the caller goes. */
export async function* eachById(
  weaviate: Weaviate,
  { home, ids, fields, atOnce = idsAtOnce }: Named,
): AsyncGenerator<Row> {
  for (let from = 0; from < ids.length; from += atOnce) {
    const where = hasId(ids.slice(from, from + atOnce));
    yield* await findRows(weaviate, { home, where, fields, limit: atOnce });
  }
}

/** Of objects of which no more than the id is read. */
export const bareIdsAtOnce = 200;

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
