import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
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

const ofKey = 'WHERE owner = ? AND kind = ? AND id = ?';

/** Objects that an owner has beside threads, a row each. */
export function createResources(db: Sqlite): ResourceRecords {
  const { prepare } = db;
  return {
    getResource: ({ owner, kind, id }) => {
      const row = prepare(`SELECT ${resourceColumns} FROM resources ${ofKey}`).get(owner, kind, id);
      return Promise.resolve(row && toResource(row));
    },

    putResource: (write) => db.write(() => putResource(db, write)),

    deleteResource: ({ owner, kind, id }, version) =>
      db.write(
        () => prepare(`DELETE FROM resources ${ofKey} AND version = ?`).run(owner, kind, id, version).changes === 1,
      ),

    listResources: ({ owner, kind }, { limit, bytes, ...range }) => {
      const { where, params } = inRange(range);
      const rows = prepare(
        `SELECT ${resourceColumns} FROM resources WHERE owner = ? AND kind = ? ${where} ORDER BY id DESC LIMIT ?`,
      ).iterate(owner, kind, ...params, limit);
      return Promise.resolve(take(rows, toResource, resourceBytes, bytes));
    },

    listResourceMarks: ({ owner, kind }, { limit, ...range }) => {
      const { where, params } = inRange(range);
      const rows = prepare(
        `SELECT ${markColumns} FROM resources WHERE owner = ? AND kind = ? ${where} ORDER BY id DESC LIMIT ?`,
      ).all(owner, kind, ...params, limit);
      return Promise.resolve(rows.map(toMark));
    },

    countResources: ({ owner, kind }, atMost) => {
      const row = prepare(
        'SELECT count(*) AS count FROM (SELECT 1 FROM resources WHERE owner = ? AND kind = ? LIMIT ?)',
      ).get(owner, kind, atMost);
      return Promise.resolve(row?.['count'] as number);
    },

    listDueResources: (kind, { until, after, limit }) => {
      const rows = prepare(
        `SELECT owner, id, version, due_at FROM resources
         WHERE kind = ? AND due_at <= ? AND (due_at, owner, id) > (?, ?, ?) ORDER BY due_at, owner, id LIMIT ?`,
      ).all(kind, until, after?.dueAt ?? 0, after?.owner ?? '', after?.id ?? '', limit);
      return Promise.resolve(rows.map(toDueResource));
    },
  };
}

/** What a range of ids adds to a statement. */
function inRange({ from, after }: IdRange): { readonly where: string; readonly params: readonly string[] } {
  const where = `${after === undefined ? '' : 'AND id < ?'} ${from === undefined ? '' : 'AND id >= ?'}`;
  return { where, params: [after, from].filter((id) => id !== undefined) };
}

export function putResource({ prepare }: Sqlite, write: ResourceWrite): number | undefined {
  const { owner, kind, id, version, attempt, json, at, dueAt = null } = write;
  const { changes } = makes(write)
    ? prepare(
        `INSERT INTO resources (owner, kind, id, version, attempt, json, created_at, updated_at, due_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      ).run(owner, kind, id, version, attempt, json, at, at, dueAt)
    : prepare(
        `UPDATE resources SET version = ?, attempt = ?, json = ?, updated_at = ?, due_at = ? ${ofKey} AND version = ?`,
      ).run(version, attempt, json, at, dueAt, owner, kind, id, version - 1);
  if (changes === 1) return at;
  const same = prepare(`SELECT updated_at FROM resources ${ofKey} AND version = ? AND attempt = ?`);
  return same.get(owner, kind, id, version, attempt)?.['updated_at'] as number | undefined;
}
