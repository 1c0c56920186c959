import { toStoredId } from '@agent-workflow/runtime/sqlite/ids';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { conflict } from '@agent-workflow/kit/errors';
import type { Change } from '../../ports/changes.ts';
import type { AppliedRequest, RunRecord, ThreadKey, ToolCallRecord } from '../../ports/record.ts';
import { checkpointsOf, versionsPut } from '../../record/versions.ts';
import { putCheckpoint } from './checkpoints.ts';
import { closeGap, closeGaps, openGap, type ContextRef } from './gaps.ts';
import { columnsOfRun, fromHead, fromRun, headColumns } from './rows.ts';
import { putResource } from './resources.ts';
import type { HeadRow } from './snapshot.ts';

/**
 * Writes a change to the thread that is known, or makes the thread.
 * @returns whether it did: nothing is written when the thread is there though none is known.
 */
export function applyChange(db: Sqlite, known: HeadRow | undefined, key: ThreadKey, change: Change): boolean {
  const ref = known?.ref ?? insertThread(db, key, change);
  if (ref === undefined) return false;
  if (known) updateHead(db, known, change);
  applyToFields(db, ref, change);
  applyToLog(
    db,
    { ref, contextNumber: known?.contextNumber ?? firstContext, hasGaps: known?.hasGaps ?? false },
    change,
  );
  const { owner } = key;
  for (const run of change.runs ?? []) {
    putRun(db, { ref, owner, agent: change.head.agent }, run);
    if (run.end && run.status !== 'failed' && known?.hasToolCalls) dropToolCalls(db, ref, run.runId);
  }
  if (change.answered) putAnswered(db, ref, owner, change.answered);
  if (change.dropToolCallsOf !== undefined) dropToolCalls(db, ref, change.dropToolCallsOf);
  if (change.applies) putApplied(db, ref, change.applies);
  if (change.toolCall) putToolCall(db, ref, change.toolCall);
  applyToCheckpoints(db, ref, change);
  for (const write of change.resources ?? []) putResource(db, write);
  return true;
}

function applyToFields(db: Sqlite, ref: number, change: Change): void {
  if (change.clearState) db.prepare('DELETE FROM fields WHERE ref = ?').run(ref);
  for (const [name, json] of Object.entries(change.fields ?? {})) {
    if (json) {
      db.prepare(
        'INSERT INTO fields (ref, name, json) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET json = excluded.json',
      ).run(ref, name, json);
    } else {
      db.prepare('DELETE FROM fields WHERE ref = ? AND name = ?').run(ref, name);
    }
  }
}

/** The number of a new thread's context. */
const firstContext = 1;

function applyToLog(
  db: Sqlite,
  { ref, contextNumber, hasGaps }: ContextRef & Pick<HeadRow, 'hasGaps'>,
  change: Change,
): void {
  const number = change.clearState ? contextNumber + 1 : contextNumber;
  const versionAt = versionsPut(change);
  if (change.clearState) {
    db.prepare('UPDATE threads SET context_number = ? WHERE ref = ?').run(number, ref);
    closeGap(db, ref, { start: 0, stop: change.head.nextPosition });
  }
  if (change.deletedFrom !== undefined)
    db.prepare('DELETE FROM messages WHERE ref = ? AND position >= ?').run(ref, change.deletedFrom);
  // Before the messages that are put: one of them may have had its id.
  for (const position of change.deleted ?? []) {
    db.prepare('DELETE FROM messages WHERE ref = ? AND position = ?').run(ref, position);
  }
  const gone = new Set(change.deleted);
  for (const message of change.messages ?? []) {
    if (gone.has(message.position)) continue;
    db.prepare(
      `INSERT INTO messages (ref, position, message_id, json, in_context, version) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (ref, position) DO UPDATE SET json = excluded.json, in_context = excluded.in_context, version = excluded.version`,
    ).run(ref, message.position, message.messageId, message.json, number, versionAt(message.position) ?? null);
    if (hasGaps || change.clearState) openGap(db, ref, message.position);
  }
  for (const position of change.addedToContext ?? []) {
    db.prepare('UPDATE messages SET in_context = ? WHERE ref = ? AND position = ?').run(number, ref, position);
    openGap(db, ref, position);
  }
  for (const position of change.removedFromContext ?? []) {
    db.prepare('UPDATE messages SET in_context = 0 WHERE ref = ? AND position = ?').run(ref, position);
  }
  closeGaps(db, ref, change.removedFromContext ?? []);
}

function applyToCheckpoints(db: Sqlite, ref: number, change: Change): void {
  if (change.dropCheckpointsAfter !== undefined) {
    db.prepare('DELETE FROM checkpoints WHERE ref = ? AND version > ? AND version < ?').run(
      ref,
      change.dropCheckpointsAfter,
      change.head.version,
    );
  }
  for (const [version, checkpoint] of checkpointsOf(change)) putCheckpoint(db, ref, version, checkpoint);
  if (change.dropCheckpointsTo !== undefined)
    db.prepare('DELETE FROM checkpoints WHERE ref = ? AND version <= ?').run(ref, change.dropCheckpointsTo);
}

const putAnswered = (db: Sqlite, ref: number, owner: string, { runId, resumedBy }: RunRecord): unknown =>
  db
    .prepare('UPDATE runs SET resumed_by = ? WHERE owner = ? AND run_id = ? AND ref = ?')
    .run(resumedBy ?? null, owner, toStoredId(runId), ref);

/** About one in so many that come forgets those that are due, up to four times as many, so that none of them stay. */
const forgottenEvery = 16;

function putApplied(db: Sqlite, ref: number, { id, reply, at, keptMs }: AppliedRequest): void {
  if (at % forgottenEvery === 0)
    db.prepare(
      'DELETE FROM applied WHERE due IN (SELECT due FROM applied WHERE due < ? * 1024 ORDER BY due LIMIT ?)',
    ).run(at, 4 * forgottenEvery);
  db.prepare(
    `INSERT INTO applied (due, ref, id, reply)
     VALUES ((SELECT max(?1 * 1024, coalesce(max(due) + 1, 0)) FROM applied WHERE due < (?1 + 1) * 1024), ?2, ?3, ?4)`,
  ).run(at + keptMs, ref, id, reply);
}

const dropToolCalls = (db: Sqlite, ref: number, runId: string): unknown =>
  db.prepare('DELETE FROM tool_calls WHERE ref = ? AND run_id = ?').run(ref, runId);

const putToolCall = (db: Sqlite, ref: number, { runId, callKey, result }: ToolCallRecord): unknown =>
  db
    .prepare(
      `INSERT INTO tool_calls (ref, run_id, call_key, result) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET result = excluded.result`,
    )
    .run(ref, runId, callKey, result ?? null);

const newThread = `INSERT INTO threads
  (name, metadata, created_at, updated_at, owner, thread_id, checkpoints_since, deleting, ${headColumns.join(', ')})
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${headColumns.map(() => '?').join(', ')})
  ON CONFLICT (owner, thread_id) DO NOTHING`;

/** `undefined` when the thread is there already. */
function insertThread(db: Sqlite, { owner, threadId }: ThreadKey, change: Change): number | undefined {
  const { head } = change;
  const { changes, lastInsertRowid } = db
    .prepare(newThread)
    .run(
      head.name ?? null,
      head.metadata ?? null,
      head.createdAt,
      head.updatedAt,
      owner,
      threadId,
      firstCheckpointAt(change) ?? null,
      Number(head.deleting),
      ...fromHead(head),
    );
  return changes === 0 ? undefined : Number(lastInsertRowid);
}

const firstCheckpointAt = (change: Change): number | undefined => checkpointsOf(change)[0]?.[1].at;

const setHead = `UPDATE threads SET ${headColumns.map((name) => `${name} = ?`).join(', ')}`;

function updateHead(db: Sqlite, { ref, head: before, checkpointsSince }: HeadRow, change: Change): void {
  const { head } = change;
  const since = checkpointsSince ?? firstCheckpointAt(change) ?? null;
  // Columns of an index are written only when they change: SQLite rewrites the index entry of every column that a statement sets.
  let sql = setHead;
  const values = fromHead(head);
  if (head.updatedAt !== before.updatedAt) {
    sql += ', updated_at = ?';
    values.push(head.updatedAt);
  }
  if (since !== checkpointsSince) {
    sql += ', checkpoints_since = ?';
    values.push(since);
  }
  if (head.deleting !== before.deleting) {
    sql += ', deleting = ?';
    values.push(Number(head.deleting));
  }
  if (head.name !== before.name || head.metadata !== before.metadata) {
    sql += ', name = ?, metadata = ?';
    values.push(head.name ?? null, head.metadata ?? null);
  }
  db.prepare(`${sql} WHERE ref = ?`).run(...values, ref);
}

interface ThreadOfRun {
  readonly ref: number;
  readonly owner: string;
  readonly agent: string | undefined;
}

const newRun = `INSERT INTO runs (owner, ref, agent, ${columnsOfRun.join(', ')})
  VALUES (?, ?, ?, ${columnsOfRun.map(() => '?').join(', ')})
  ON CONFLICT DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at, resumes = excluded.resumes,
    "end" = excluded."end", options = excluded.options, input = excluded.input, output_from = excluded.output_from, output_to = excluded.output_to,
    wake_at = excluded.wake_at, usage = excluded.usage, served_by = excluded.served_by,
    started_at = excluded.started_at, resumed_by = excluded.resumed_by
    WHERE ref = excluded.ref`;

function putRun(db: Sqlite, { ref, owner, agent }: ThreadOfRun, run: RunRecord): void {
  const { changes } = db.prepare(newRun).run(owner, ref, agent ?? null, ...fromRun(run));
  if (changes === 0) throw conflict(`run "${run.runId}" belongs to another thread`);
}
