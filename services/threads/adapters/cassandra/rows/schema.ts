/**
 * The first migration makes the schema, and a change of it is one more. Each is applied once, in order, by `migrate.ts`, and may be
 * interrupted and started again, so every statement has IF NOT EXISTS or its like.
 *
 * `thread` holds a thread in one partition, because a conditional batch covers one table and one partition. Its rows are of the
 * kinds of `kinds`, and a column belongs to the kind that is named beside it. Every column of it is written by conditional batches
 * only, as is every column of `file`, `agent` and `resource`. The other tables are written without conditions, except `once`.
 */
export const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE IF NOT EXISTS thread (
       owner text,
       thread_id text,
       at uuid STATIC,            -- the stamp of the head, beside every row that a slice gives
       rolled_to bigint STATIC,   -- positions of the log below it stand in segments
       kind tinyint,
       n bigint,
       id text,
       stamp uuid,                -- head: which change wrote it; conditions ask for it
       past blob,                 -- head: the stamps before it, the newest first
       head text,                 -- head: JSON
       metadata blob,             -- head, checkpoint
       progress blob,             -- head
       layout text,               -- head: JSON, what only the adapter knows
       field blob,                -- field
       generation int,            -- field: counts while others than the layout's are absent
       position bigint,           -- message id
       run text,                  -- run: JSON
       options blob,              -- run
       input blob,                -- run
       result blob,               -- tool call; applied request: its reply
       message_id text,           -- log
       json blob,                 -- log: empty where a message was deleted
       version bigint,            -- log: the version that put the message, when it has a checkpoint
       checkpoint text,           -- checkpoint: JSON
       undo blob,                 -- checkpoint
       PRIMARY KEY ((owner, thread_id), kind, n, id)
     )`,
    `CREATE TABLE IF NOT EXISTS segment (
       owner text,
       thread_id text,
       life uuid,
       segment bigint,
       position bigint,
       message_id text,
       json blob,
       version bigint,
       PRIMARY KEY ((owner, thread_id, life, segment), position)
     )`,
    `CREATE TABLE IF NOT EXISTS run_by_id (
       owner text,
       run_id text,
       thread_id text,
       PRIMARY KEY ((owner, run_id))
     )`,
    `CREATE TABLE IF NOT EXISTS threads_by_recency (
       owner text,
       hour bigint,
       slot bigint,
       thread_id text,
       updated_at bigint,
       row text,
       metadata blob,
       PRIMARY KEY ((owner, hour), slot, thread_id)
     ) WITH CLUSTERING ORDER BY (slot DESC, thread_id DESC)`,
    `CREATE TABLE IF NOT EXISTS hours_by_owner (
       owner text,
       hour bigint,
       noted boolean,
       PRIMARY KEY ((owner), hour)
     ) WITH CLUSTERING ORDER BY (hour DESC)`,
    `CREATE TABLE IF NOT EXISTS journal (
       topic text,
       bucket bigint,
       owner text,
       thread_id text,
       id text,
       noted boolean,
       PRIMARY KEY ((topic, bucket), owner, thread_id, id)
     )`,
    `CREATE TABLE IF NOT EXISTS journal_buckets (
       topic text,
       bucket bigint,
       noted boolean,
       PRIMARY KEY ((topic), bucket)
     )`,
    `CREATE TABLE IF NOT EXISTS once (
       owner text,
       key text,
       attempt uuid,
       body_hash text,
       reply blob,
       at bigint,
       PRIMARY KEY ((owner, key))
     )`,
    `CREATE TABLE IF NOT EXISTS runs_by_owner (
       owner text,                -- for the runs of a named agent the JSON of [owner, agent]
       hour bigint,
       created_at bigint,
       run_id text,
       thread_id text,            -- empty where the thread was deleted
       PRIMARY KEY ((owner, hour), created_at, run_id)
     ) WITH CLUSTERING ORDER BY (created_at DESC, run_id DESC)`,
    `CREATE TABLE IF NOT EXISTS run_hours_by_owner (
       owner text,
       hour bigint,
       noted boolean,
       PRIMARY KEY ((owner), hour)
     ) WITH CLUSTERING ORDER BY (hour DESC)`,
    `CREATE TABLE IF NOT EXISTS file (
       owner text,
       totals_stamp uuid STATIC,   -- of all files of the owner: which change wrote the totals
       files bigint STATIC,
       bytes bigint STATIC,
       file_id text,
       stamp uuid,                 -- which change wrote the row; conditions ask for it
       row text,                   -- JSON
       PRIMARY KEY ((owner), file_id)
     )`,
    `CREATE TABLE IF NOT EXISTS file_note (
       owner text,
       file_id text,
       thread_id text,
       at bigint,
       PRIMARY KEY ((owner, file_id), thread_id)
     )`,
    `CREATE TABLE IF NOT EXISTS file_of_thread (
       owner text,
       thread_id text,
       file_id text,
       noted boolean,
       PRIMARY KEY ((owner, thread_id), file_id)
     )`,
    `CREATE TABLE IF NOT EXISTS agent (
       registry int,
       name text,
       changes bigint,             -- counts the writes of the row; conditions ask for it
       routing text,               -- JSON
       rest text,                  -- JSON
       PRIMARY KEY ((registry), name)
     )`,
    `CREATE TABLE IF NOT EXISTS agent_definition (
       agent text,
       revision text,
       schema_hash text,
       graph blob,
       fields blob,
       tools blob,
       nodes text,                 -- JSON
       PRIMARY KEY ((agent, revision), schema_hash)
     )`,
  ],
  [
    `CREATE TABLE IF NOT EXISTS resource (
       owner text,
       kind text,
       id text,
       version bigint,             -- counts the writes of the row; conditions ask for it
       attempt text,               -- the id of the write that made the version
       json blob,
       created_at bigint,
       updated_at bigint,
       due_at bigint,
       PRIMARY KEY ((owner, kind), id)
     ) WITH CLUSTERING ORDER BY (id DESC)`,
  ],
  // Of a checkpoint: what went on within the step, and of that what is for operators alone.
  ['ALTER TABLE thread ADD IF NOT EXISTS (trace blob, trace_content blob)'],
];

/** The kinds of rows of `thread`, with the meaning of `n` and `id`. The head comes first and the fields next: one slice reads both. */
export const kinds = {
  head: 0,
  /** `id` is the name. */
  field: 1,
  /** `id` is a message's. */
  messageId: 2,
  /** `id` is the run's. */
  run: 3,
  /** `id` names run and call. */
  toolCall: 4,
  /** `id` is the request's: a row is there when it has been applied. */
  appliedRequest: 5,
  /** `n` is the position. */
  log: 6,
  /** `n` is the time of making, `id` the run's. */
  runOrder: 7,
  /** `n` is the version. */
  checkpoint: 8,
} as const;
