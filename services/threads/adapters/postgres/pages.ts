import type { Param } from './values.ts';

/** A statement and its parameters after those of its condition. */
interface Page {
  readonly sql: string;
  readonly params: readonly Param[];
}

/**
 * A page of the rows that `from` selects, `columns` with `size` bytes each. It ends after the first row at which the rows take more
 * than `bytes`, but not before the second; what is behind is not sent, and values that are stored apart from their row are not read.
 */
export function pageOf(options: {
  readonly columns: string;
  readonly size: string;
  readonly from: string;
  /** As `x.position DESC`. */
  readonly order: string;
  /** The first parameter that is free. */
  readonly firstParam: number;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly bytes?: number | undefined;
}): Page {
  const { columns, size, from, order, firstParam, limit, offset = 0, bytes } = options;
  const [first, second, third] = [0, 1, 2].map((index) => `$${String(firstParam + index)}::bigint`);
  const rows = `SELECT ${columns}${bytes === undefined ? '' : `, ${size} AS size, row_number() OVER (ORDER BY ${order}) AS number`} FROM (
    SELECT x.* ${from} ORDER BY ${order} LIMIT ${String(first)} OFFSET ${String(second)}) AS x`;
  if (bytes === undefined) return { sql: `${rows} ORDER BY ${order}`, params: [limit, offset] };
  return {
    sql: `SELECT * FROM (
        SELECT *, sum(size) OVER (ORDER BY number) - size AS before FROM (${rows} ORDER BY ${order}) AS y) AS z
      WHERE number <= 2 OR before <= ${String(third)} ORDER BY number`,
    params: [limit, offset, Math.min(bytes, Number.MAX_SAFE_INTEGER)],
  };
}

/** A page of the undo records of the thread whose ref is `$1`. */
export const undoPage = (range: {
  readonly above: number;
  readonly below: number;
  readonly limit: number;
  readonly bytes?: number | undefined;
}): Page => {
  const { above, below, ...page } = range;
  const { sql, params } = pageOf({
    columns: 'version, undo',
    size: 'octet_length(undo)',
    from: 'FROM checkpoints AS x WHERE x.ref = $1 AND x.version > $2 AND x.version < $3',
    order: 'x.version DESC',
    firstParam: 4,
    ...page,
  });
  return { sql, params: [above, below, ...params] };
};
