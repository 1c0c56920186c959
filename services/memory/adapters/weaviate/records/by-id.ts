import { eachOf } from '@agent-workflow/kit/each';
import { findRows, hasId, type Row } from '../client/queries.ts';
import type { FoundObject, Scope, Weaviate } from '../client/weaviate.ts';
import type { Changes } from './changes.ts';

/** What reads of memories work with. */
export interface Reads {
  readonly weaviate: Weaviate;
  readonly changes: Changes;
  /** Is called with an error that names an object that cannot be read. */
  readonly onUnreadable: (error: Error) => void;
}

/** How many objects one request reads by id, whole: content, metadata and vector. */
const idsAtOnce = 50;
/** How many objects one request reads when it reads their ids alone. */
export const bareIdsAtOnce = 200;
const findsAtOnce = 8;

interface Named {
  readonly scope: Scope;
  readonly ids: readonly string[];
  /** They include `_additional { id }`. */
  readonly fields: string;
  /** How many one request reads; more when few fields are read. */
  readonly atOnce?: number;
  /** Each row has its distance from this vector, or, when it was read on its own, its vector. */
  readonly nearVector?: Float32Array;
}

/** The existing objects of these ids, in no order. */
export const rowsByIds = async (reads: Reads, named: Named): Promise<Row[]> => Array.fromAsync(eachById(reads, named));

/**
 * The same, read lazily: no more than the caller takes. A query finds the object of an id by its number, so it may miss one that is being
 * replaced; those are read again on their own, each from the one place that a replacement changes at once.
 */
export async function* eachById(
  { weaviate, changes, onUnreadable }: Reads,
  { scope, ids, atOnce = idsAtOnce, ...query }: Named,
): AsyncGenerator<Row> {
  for (let from = 0; from < ids.length; from += atOnce) {
    const chunk = ids.slice(from, from + atOnce);
    const rows = await findRows(weaviate, { ...query, scope, where: hasId(chunk), limit: atOnce });
    yield* readableOf(rows, onUnreadable);
    const found = new Set(rows.map(idOf));
    const missing = chunk.filter((id) => !found.has(id));
    if (missing.length === 0) continue;
    const { replaced } = await changes.recent(scope.tenant ?? '');
    const alone: Row[] = [];
    await eachOf(
      missing.filter((id) => replaced.has(id)),
      findsAtOnce,
      async (id) => {
        const object = await weaviate.find(scope, id);
        if (object) alone.push(toRow(object));
      },
    );
    yield* readableOf(alone, onUnreadable);
  }
}

/** An object that was read on its own, as a query gives it. */
export const toRow = ({ id, properties, vector }: FoundObject): Row => ({
  ...{ idHex: null, at: null, metadata: null },
  ...properties,
  _additional: { id, vector },
});

export const idOf = (row: Row): string => (row['_additional'] as { readonly id: string }).id;

export const readableOf = (rows: readonly Row[], onUnreadable: Reads['onUnreadable']): Row[] =>
  rows.filter((row) => isReadable(row, onUnreadable));

/** Whether the fields that were read are those of a memory. An object for which they are not costs a reader no more than itself. */
export function isReadable(row: Row, onUnreadable: Reads['onUnreadable']): boolean {
  try {
    if ('idHex' in row && typeof row['idHex'] !== 'string') throw new TypeError('it has no id');
    if ('at' in row && typeof row['at'] !== 'number') throw new TypeError('it has no time');
    if ('metadata' in row) JSON.parse(String(row['metadata']));
    return true;
  } catch (error) {
    onUnreadable(new Error(`the object ${idOf(row)} in Weaviate is no memory that can be read`, { cause: error }));
    return false;
  }
}
