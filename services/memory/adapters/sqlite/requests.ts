import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import type { SentRequest } from '../../ports/port.ts';

/** What was kept of a request that was applied; `undefined` when none was. */
export function findOutcome(db: Sqlite, owner: string, { id, at }: SentRequest): Uint8Array | undefined {
  const row = db.prepare('SELECT outcome FROM requests WHERE owner = ? AND id = ? AND until > ?').get(owner, id, at);
  return row?.['outcome'] as Uint8Array | undefined;
}

/** How many outcomes are forgotten at most for each that comes: more than one, so that none of those that are due stay. */
const forgottenAtOnce = 4;

/** Keeps what a request came to: in the transaction of its effect, so that both are there or neither. */
export function keepOutcome(
  db: Sqlite,
  { owner, request, outcome }: { readonly owner: string; readonly request: SentRequest; readonly outcome: Uint8Array },
): void {
  const { id, at, keptMs } = request;
  for (const due of db.prepare('SELECT rowid FROM requests WHERE until <= ? LIMIT ?').all(at, forgottenAtOnce))
    db.prepare('DELETE FROM requests WHERE rowid = ?').run(Number(due['rowid']));
  const put = 'INSERT OR REPLACE INTO requests (owner, id, until, outcome) VALUES (?, ?, ?, ?)';
  db.prepare(put).run(owner, id, at + keptMs, outcome);
}
