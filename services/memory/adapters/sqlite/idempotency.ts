import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { IdempotentRequest } from '../../ports/records.ts';

/** The outcome that was kept of a request; `undefined` when the request was not applied, or its outcome has expired. */
export function findOutcome(db: Sqlite, owner: string, { id, at }: IdempotentRequest): Uint8Array | undefined {
  const row = db.prepare('SELECT outcome FROM requests WHERE owner = ? AND id = ? AND until > ?').get(owner, id, at);
  return row?.['outcome'] as Uint8Array | undefined;
}

/** How many expired outcomes are deleted for each that is kept: more than one, so that the table shrinks. */
const deletedAtOnce = 4;

/** Keeps a request's outcome. It runs in the transaction of the request's effect, so that both are there or neither is. */
export function keepOutcome(
  db: Sqlite,
  {
    owner,
    request,
    outcome,
  }: { readonly owner: string; readonly request: IdempotentRequest; readonly outcome: Uint8Array },
): void {
  const { id, at, keptMs } = request;
  for (const expired of db.prepare('SELECT rowid FROM requests WHERE until <= ? LIMIT ?').all(at, deletedAtOnce))
    db.prepare('DELETE FROM requests WHERE rowid = ?').run(Number(expired['rowid']));
  const put = 'INSERT OR REPLACE INTO requests (owner, id, until, outcome) VALUES (?, ?, ?, ?)';
  db.prepare(put).run(owner, id, at + keptMs, outcome);
}
