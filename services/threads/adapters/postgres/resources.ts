import type { IdRange, ResourceRecords, ResourceWrite } from '../../ports/resources.ts';
import {
  makes,
  markColumns,
  resourceBytes,
  resourceColumns,
  toDueResource,
  toMark,
  toResource,
} from '../../record/resource-rows.ts';
import { take } from '../../record/sql-rows.ts';
import type { Session } from './client.ts';
import { pageOf } from './pages.ts';
import type { Transaction } from './transaction.ts';
import type { Param } from './values.ts';

const ofKey = 'WHERE owner = $1 AND kind = $2 AND id = $3';
const insertRow = `INSERT INTO resources (owner, kind, id, version, attempt, json, updated_at, due_at, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $7) ON CONFLICT DO NOTHING RETURNING updated_at`;
const updateRow = `UPDATE resources SET version = $4, attempt = $5, json = $6, updated_at = $7, due_at = $8
  ${ofKey} AND version = $4::bigint - 1 RETURNING updated_at`;

const valuesOf = ({ owner, kind, id, version, attempt, json, at, dueAt }: ResourceWrite): Param[] => [
  ...[owner, kind, id, version, attempt, json, at],
  dueAt ?? null,
];

/** Makes an object as part of a change of a thread; one that is there already stays as it is. */
export const makeResource = ({ write }: Pick<Transaction, 'write'>, made: ResourceWrite): Promise<unknown> =>
  write(insertRow, valuesOf(made));

/** What a range of ids adds to a statement, from its third parameter on. */
function inRange({ from, after }: IdRange): { readonly where: string; readonly params: readonly string[] } {
  const params = [after, from].filter((id) => id !== undefined);
  const isBelow = after === undefined ? '' : 'AND x.id < $3';
  const isFrom = from === undefined ? '' : `AND x.id >= $${String(2 + params.length)}`;
  return { where: `${isBelow} ${isFrom}`, params };
}

/** Objects that an owner has beside threads, a row each. */
export const createResources = ({ query }: Session): ResourceRecords => ({
  getResource: async ({ owner, kind, id }) => {
    const [row] = await query(`SELECT ${resourceColumns} FROM resources ${ofKey}`, [owner, kind, id]);
    return row && toResource(row);
  },

  putResource: async (write) => {
    const values = valuesOf(write);
    const [written] = await query(makes(write) ? insertRow : updateRow, values);
    const [row] = written
      ? [written]
      : await query(`SELECT updated_at FROM resources ${ofKey} AND version = $4 AND attempt = $5`, values.slice(0, 5));
    return row?.['updated_at'] as number | undefined;
  },

  deleteResource: async ({ owner, kind, id }, version) => {
    const dropped = await query(`DELETE FROM resources ${ofKey} AND version = $4 RETURNING version`, [
      ...[owner, kind, id, version],
    ]);
    return dropped.length === 1;
  },

  listResources: async ({ owner, kind }, { limit, bytes, ...range }) => {
    const { where, params } = inRange(range);
    const page = pageOf({
      columns: resourceColumns,
      size: '512 + octet_length(json)',
      from: `FROM resources AS x WHERE x.owner = $1 AND x.kind = $2 ${where}`,
      order: 'x.id DESC',
      firstParam: 3 + params.length,
      ...{ limit, bytes },
    });
    return take(
      await query(page.sql, [owner, kind, ...params, ...page.params]),
      ...([toResource, resourceBytes, bytes] as const),
    );
  },

  listResourceMarks: async ({ owner, kind }, { limit, ...range }) => {
    const { where, params } = inRange(range);
    const rows = await query(
      `SELECT ${markColumns} FROM resources AS x WHERE x.owner = $1 AND x.kind = $2 ${where}
       ORDER BY x.id DESC LIMIT $${String(3 + params.length)}`,
      [owner, kind, ...params, limit],
    );
    return rows.map(toMark);
  },

  countResources: async ({ owner, kind }, atMost) => {
    const [row] = await query(
      'SELECT count(*) AS count FROM (SELECT 1 FROM resources WHERE owner = $1 AND kind = $2 LIMIT $3) AS x',
      [owner, kind, atMost],
    );
    return row?.['count'] as number;
  },

  listDueResources: async (kind, { until, after, limit }) => {
    const rows = await query(
      `SELECT owner, id, version, due_at FROM resources
       WHERE kind = $1 AND due_at <= $2 AND (due_at, owner, id) > ($3, $4, $5) ORDER BY due_at, owner, id LIMIT $6`,
      [kind, until, after?.dueAt ?? 0, after?.owner ?? '', after?.id ?? '', limit],
    );
    return rows.map(toDueResource);
  },
});
