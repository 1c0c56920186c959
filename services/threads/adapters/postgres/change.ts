import { conflict } from '@agent-workflow/kit/errors';
import type { Change } from '../../ports/changes.ts';
import type { AppliedRequest, Checkpoint, LogEntry, RunRecord, ThreadKey, ToolCallRecord } from '../../ports/record.ts';
import { fromWork, toList } from '../../record/sql-rows.ts';
import { checkpointsOf, versionsPut } from '../../record/versions.ts';
import { makeResource } from './resources.ts';
import type { Transaction } from './transaction.ts';
import type { Param } from './values.ts';
import { hashOf, headValues, runValues } from './rows.ts';
import type { FoundThread } from './snapshot.ts';

/** Writes a change to the thread that was found and is locked, or makes the thread. Resolves when every statement has succeeded. */
export async function applyChange(
  transaction: Transaction,
  found: FoundThread | undefined,
  key: ThreadKey,
  change: Change,
): Promise<void> {
  const ref = found?.ref ?? (await insertThread(transaction, key, change));
  const contextNumber = (found?.contextNumber ?? firstContext) + (change.clearState ? 1 : 0);
  await Promise.all([
    ...(found ? [updateHead(transaction, found, change, contextNumber)] : []),
    ...applyToFields(transaction, ref, change),
    ...applyToLog(transaction, ref, contextNumber, change),
    ...(change.runs ?? []).map((run) => putRun(transaction, { ...key, ref, agent: change.head.agent }, run)),
    ...(change.answered ? [putAnswered(transaction, key.owner, ref, change.answered)] : []),
    ...(change.applies ? putApplied(transaction, ref, change.applies) : []),
    ...(change.dropToolCallsOf === undefined ? [] : [transaction.write(dropToolCalls, [ref, change.dropToolCallsOf])]),
    ...(change.toolCall ? putToolCall(transaction, ref, change.toolCall) : []),
    ...applyToCheckpoints(transaction, ref, change),
    ...(change.resources ?? []).map((write) => makeResource(transaction, write)),
  ]);
}

type Writes = Promise<unknown>[];

/** The number of a new thread's context. */
const firstContext = 1;

/** `$1, $2`, from a number on. */
const placeholders = (first: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `$${String(first + index)}`).join(', ');

async function insertThread({ query }: Transaction, { owner, threadId }: ThreadKey, change: Change): Promise<number> {
  const { head, clearState } = change;
  const values: Readonly<Record<string, Param>> = {
    owner,
    thread_id: threadId,
    name: head.name ?? null,
    metadata: head.metadata ?? null,
    created_at: head.createdAt,
    context_number: clearState ? firstContext + 1 : firstContext,
    checkpoints_since: firstCheckpointAt(change) ?? null,
    ...headValues(head),
  };
  const names = Object.keys(values);
  const [row] = await query(
    `INSERT INTO threads (${names.join(', ')}) VALUES (${placeholders(1, names.length)}) RETURNING ref`,
    Object.values(values),
  );
  return row?.['ref'] as number;
}

const firstCheckpointAt = (change: Change): number | undefined => checkpointsOf(change)[0]?.[1].at;

const updateHead = (
  { write }: Transaction,
  { ref, checkpointsSince, head: before }: FoundThread,
  change: Change,
  contextNumber: number,
): Promise<unknown> => {
  const { name, metadata } = change.head;
  const values: Readonly<Record<string, Param>> = {
    ...headValues(change.head),
    context_number: contextNumber,
    checkpoints_since: checkpointsSince ?? firstCheckpointAt(change) ?? null,
    ...(name === before.name && metadata === before.metadata ? {} : { name: name ?? null, metadata: metadata ?? null }),
  };
  const sets = Object.keys(values).map((name, index) => `${name} = $${String(index + 2)}`);
  return write(`UPDATE threads SET ${sets.join(', ')} WHERE ref = $1`, [ref, ...Object.values(values)]);
};

function applyToFields({ write }: Transaction, ref: number, { clearState, fields = {} }: Change): Writes {
  const cleared = Object.keys(fields).filter((name) => !fields[name]);
  const puts = Object.entries(fields).flatMap(([name, json]) => (json ? [{ name, json }] : []));
  return [
    ...(clearState ? [write('DELETE FROM fields WHERE ref = $1', [ref])] : []),
    ...(cleared.length > 0 && !clearState
      ? [write('DELETE FROM fields WHERE ref = $1 AND name_hash = ANY($2::text[])', [ref, cleared.map(hashOf)])]
      : []),
    ...inBatches(puts).map((batch) =>
      write(
        `INSERT INTO fields (ref, name_hash, name, json)
         VALUES ${batch.map((_, index) => `($1, ${placeholders(2 + 3 * index, 3)})`).join(', ')}
         ON CONFLICT (ref, name_hash) DO UPDATE SET json = excluded.json`,
        [ref, ...batch.flatMap(({ name, json }) => [hashOf(name), name, json])],
      ),
    ),
  ];
}

/** The rows of one statement: it takes at most 65,535 parameters. */
const rowsAtOnce = 500;

function inBatches<T>(items: readonly T[]): (readonly T[])[] {
  const batches: (readonly T[])[] = [];
  for (let from = 0; from < items.length; from += rowsAtOnce) batches.push(items.slice(from, from + rowsAtOnce));
  return batches;
}

function applyToLog({ write }: Transaction, ref: number, contextNumber: number, change: Change): Writes {
  const { deletedFrom, messages = [], addedToContext = [], removedFromContext = [], deleted = [] } = change;
  const at = 'ref = $1 AND position = ANY($2::bigint[])';
  const versionAt = versionsPut(change);
  const gone = new Set(deleted);
  return [
    ...(deletedFrom === undefined
      ? []
      : [write('DELETE FROM messages WHERE ref = $1 AND position >= $2', [ref, deletedFrom])]),
    // Before the messages that are put: one of them may have had its id.
    ...(deleted.length > 0 ? [write(`DELETE FROM messages WHERE ${at}`, [ref, deleted])] : []),
    ...inBatches(lastOfEach(messages).filter(({ position }) => !gone.has(position))).map((batch) =>
      write(
        `INSERT INTO messages (ref, in_context, version, position, message_id, json)
         VALUES ${batch.map((_, index) => `($1, $2, ${placeholders(3 + 4 * index, 4)})`).join(', ')}
         ON CONFLICT (ref, position) DO UPDATE
           SET json = excluded.json, in_context = excluded.in_context, version = excluded.version`,
        [
          ...[ref, contextNumber],
          ...batch.flatMap(({ position, messageId, json }) => [versionAt(position) ?? null, position, messageId, json]),
        ],
      ),
    ),
    ...(addedToContext.length > 0
      ? [write(`UPDATE messages SET in_context = $3 WHERE ${at}`, [ref, addedToContext, contextNumber])]
      : []),
    ...(removedFromContext.length > 0
      ? [write(`UPDATE messages SET in_context = 0 WHERE ${at}`, [ref, removedFromContext])]
      : []),
  ];
}

/** One statement writes a row once. */
const lastOfEach = (messages: readonly LogEntry[]): LogEntry[] => [
  ...new Map(messages.map((entry) => [entry.position, entry])).values(),
];

interface ThreadOfRun {
  readonly owner: string;
  readonly ref: number;
  readonly agent: string | undefined;
}

async function putRun({ write }: Transaction, { owner, ref, agent }: ThreadOfRun, run: RunRecord): Promise<void> {
  const values: Readonly<Record<string, Param>> = { owner, ref, of_agent: agent ?? null, ...runValues(run) };
  const names = Object.keys(values);
  const putting = write(
    `INSERT INTO runs (${names.join(', ')}) VALUES (${placeholders(1, names.length)})
     ON CONFLICT (owner, run_id) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at,
       resumes = excluded.resumes, "end" = excluded."end", options = excluded.options, input = excluded.input, output_from = excluded.output_from,
       output_to = excluded.output_to, wake_at = excluded.wake_at, usage = excluded.usage,
       served_by = excluded.served_by, started_at = excluded.started_at, resumed_by = excluded.resumed_by
       WHERE runs.ref = excluded.ref`,
    Object.values(values),
  );
  const dropping = run.end && run.status !== 'failed' ? write(dropToolCalls, [ref, run.runId]) : undefined;
  const [written] = await Promise.all([putting, dropping]);
  if (written === 0) throw conflict(`run "${run.runId}" belongs to another thread`);
}

const putAnswered = (
  { write }: Transaction,
  owner: string,
  ref: number,
  { runId, resumedBy }: RunRecord,
): Promise<unknown> =>
  write('UPDATE runs SET resumed_by = $1 WHERE owner = $2 AND run_id = $3 AND ref = $4', [
    resumedBy ?? null,
    owner,
    runId,
    ref,
  ]);

/** The requests that are forgotten at most for each that comes: more than one, so that none stay that are due. */
const forgottenAtOnce = 4;

const putApplied = ({ write }: Transaction, ref: number, { id, reply, at, keptMs }: AppliedRequest): Writes => [
  // Another replica may be at the same rows: they are left to it.
  write(
    `DELETE FROM applied WHERE ctid = ANY(ARRAY(SELECT ctid FROM applied WHERE until < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`,
    [at, forgottenAtOnce],
  ),
  write('DELETE FROM applied WHERE ref = $1 AND left(id, 256) = left($2, 256) AND id = $2', [ref, id]),
  write('INSERT INTO applied (ref, id, reply, until) VALUES ($1, $2, $3, $4)', [ref, id, reply, at + keptMs]),
];

const dropToolCalls = 'DELETE FROM tool_calls WHERE ref = $1 AND run_id = $2';

const putToolCall = ({ write }: Transaction, ref: number, { runId, callKey, result }: ToolCallRecord): Writes => [
  write(
    'DELETE FROM tool_calls WHERE ref = $1 AND run_id = $2 AND left(call_key, 256) = left($3, 256) AND call_key = $3',
    [ref, runId, callKey],
  ),
  write('INSERT INTO tool_calls (ref, run_id, call_key, result) VALUES ($1, $2, $3, $4)', [
    ...[ref, runId, callKey, result ?? null],
  ]),
];

function applyToCheckpoints({ write }: Transaction, ref: number, change: Change): Writes {
  const { head, dropCheckpointsAfter, dropCheckpointsTo } = change;
  return [
    ...(dropCheckpointsAfter === undefined
      ? []
      : [
          write('DELETE FROM checkpoints WHERE ref = $1 AND version > $2 AND version < $3', [
            ...[ref, dropCheckpointsAfter, head.version],
          ]),
        ]),
    ...checkpointsOf(change).map(([version, checkpoint]) => putCheckpoint(write, ref, version, checkpoint)),
    ...(dropCheckpointsTo === undefined
      ? []
      : [write('DELETE FROM checkpoints WHERE ref = $1 AND version <= $2', [ref, dropCheckpointsTo])]),
  ];
}

const putCheckpoint = (
  write: Transaction['write'],
  ref: number,
  version: number,
  { source, runId, step, nodes, next, at, metadata, undo, work, trace }: Checkpoint,
): Promise<unknown> =>
  write(
    `INSERT INTO checkpoints
       (ref, version, source, run_id, step, nodes, next, at, metadata, undo, work, trace, trace_content)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      ...[ref, version, source, runId ?? null, step ?? null],
      ...[toList(nodes), toList(next), at, metadata ?? null, undo, fromWork(work)],
      ...[trace?.spansJson ?? null, trace?.contentJson ?? null],
    ],
  );
