import { storedIdOf } from '@agent-workflow/runtime/sqlite/ids';

/**
 * The schema, oldest first: only ever append. `ref` stands for (owner, thread_id) so that rows below a thread carry one
 * small number; it is found through the whole key only.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE threads (
     ref INTEGER PRIMARY KEY,
     owner TEXT NOT NULL,
     thread_id TEXT NOT NULL,
     name TEXT,
     metadata BLOB,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     version INTEGER NOT NULL,
     epoch INTEGER NOT NULL,
     step INTEGER NOT NULL,
     active_run TEXT,
     active_status TEXT,
     newest_run TEXT,
     queue TEXT NOT NULL,
     next_position INTEGER NOT NULL,
     open_calls TEXT NOT NULL,
     next TEXT NOT NULL,
     interrupted_run TEXT,
     open_interrupts TEXT NOT NULL,
     claims INTEGER NOT NULL,
     progress BLOB,
     deleting INTEGER NOT NULL,
     UNIQUE (owner, thread_id)
   ) STRICT;
   CREATE INDEX threads_by_recency ON threads (owner, deleting, updated_at, thread_id);
   CREATE INDEX threads_deleting ON threads (deleting) WHERE deleting = 1;

   CREATE TABLE fields (
     ref INTEGER NOT NULL,
     name TEXT NOT NULL,
     json BLOB NOT NULL,
     PRIMARY KEY (ref, name)
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE messages (
     ref INTEGER NOT NULL,
     position INTEGER NOT NULL,
     message_id TEXT NOT NULL,
     json BLOB NOT NULL,
     in_context INTEGER NOT NULL,
     PRIMARY KEY (ref, position)
   ) STRICT, WITHOUT ROWID;
   CREATE UNIQUE INDEX messages_by_id ON messages (ref, message_id);

   CREATE TABLE runs (
     owner TEXT NOT NULL,
     run_id TEXT NOT NULL,
     ref INTEGER NOT NULL,
     thread_id TEXT NOT NULL,
     request_id TEXT NOT NULL,
     status TEXT NOT NULL,
     granularity TEXT NOT NULL,
     is_new_thread INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     resumes TEXT,
     "end" TEXT,
     options BLOB NOT NULL,
     input BLOB,
     answers TEXT NOT NULL,
     has_new_input INTEGER NOT NULL,
     resume TEXT,
     output_from INTEGER,
     output_to INTEGER,
     PRIMARY KEY (owner, run_id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX runs_of_thread ON runs (ref, created_at, run_id);
   CREATE INDEX runs_open ON runs (run_id) WHERE status IN ('queued', 'running');

   CREATE TABLE checkpoints (
     ref INTEGER NOT NULL,
     version INTEGER NOT NULL,
     run_id TEXT,
     step INTEGER,
     nodes TEXT NOT NULL,
     at INTEGER NOT NULL,
     metadata BLOB,
     PRIMARY KEY (ref, version)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE once (
     owner TEXT NOT NULL,
     key TEXT NOT NULL,
     body_hash TEXT NOT NULL,
     applied INTEGER NOT NULL DEFAULT 0,
     reply BLOB,
     at INTEGER NOT NULL,
     PRIMARY KEY (owner, key)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX once_by_time ON once (at)`,
  // Checkpoints of before hold nothing to go back by. A run under way goes back, at most, to where this found it.
  `ALTER TABLE threads ADD COLUMN worker TEXT;
   ALTER TABLE threads ADD COLUMN found_version INTEGER;
   ALTER TABLE threads ADD COLUMN checkpoints_since INTEGER;
   UPDATE threads SET worker = '', found_version = version WHERE active_status = 'running';
   CREATE INDEX threads_by_checkpoint_age ON threads (checkpoints_since) WHERE checkpoints_since IS NOT NULL;

   DROP TABLE checkpoints;
   CREATE TABLE checkpoints (
     ref INTEGER NOT NULL,
     version INTEGER NOT NULL,
     source TEXT NOT NULL,
     run_id TEXT,
     step INTEGER,
     nodes TEXT NOT NULL,
     next TEXT NOT NULL,
     at INTEGER NOT NULL,
     metadata BLOB,
     undo BLOB NOT NULL,
     PRIMARY KEY (ref, version)
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE tool_calls (
     ref INTEGER NOT NULL,
     run_id TEXT NOT NULL,
     call_key TEXT NOT NULL,
     result BLOB,
     PRIMARY KEY (ref, run_id, call_key)
   ) STRICT, WITHOUT ROWID`,
  // Which requests a thread's changes have applied, and their replies. The earlier column is no longer read.
  `CREATE TABLE applied (
     ref INTEGER NOT NULL,
     id TEXT NOT NULL,
     reply BLOB NOT NULL,
     until INTEGER NOT NULL,
     PRIMARY KEY (ref, id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX applied_by_end ON applied (until);
   ALTER TABLE once ADD COLUMN attempt TEXT;
   ALTER TABLE once ADD COLUMN is_left INTEGER NOT NULL DEFAULT 0`,
  // A message is part of the context while its `in_context` is its thread's `context_number`: clearing a context writes one row.
  // With the index a reader of the context skips the pages of messages that are not part of it.
  `ALTER TABLE threads ADD COLUMN field_bytes INTEGER;
   ALTER TABLE threads ADD COLUMN context_bytes INTEGER;
   ALTER TABLE threads ADD COLUMN context_number INTEGER NOT NULL DEFAULT 1;
   CREATE INDEX messages_in_context ON messages (ref, in_context, position) WHERE in_context > 0`,
  `ALTER TABLE runs ADD COLUMN wake_at INTEGER;
   CREATE INDEX runs_sleeping ON runs (wake_at, run_id, owner, thread_id) WHERE status = 'sleeping'`,
  // The tokens by model that the run has taken: JSON.
  'ALTER TABLE runs ADD COLUMN usage TEXT',
  'CREATE INDEX runs_of_owner ON runs (owner, created_at, run_id)',
  // The version that put the message, when it has a checkpoint.
  'ALTER TABLE messages ADD COLUMN version INTEGER',
  // How the step ran: JSON.
  'ALTER TABLE checkpoints ADD COLUMN work TEXT',
  `CREATE TABLE files (
     owner TEXT NOT NULL,
     file_id TEXT NOT NULL,
     filename TEXT NOT NULL,
     content_type TEXT,
     sniffed_type TEXT,
     size INTEGER NOT NULL,
     sha256 TEXT,
     created_at INTEGER NOT NULL,
     status TEXT NOT NULL,
     due_at INTEGER,
     noted INTEGER NOT NULL,
     PRIMARY KEY (owner, file_id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX files_due ON files (due_at, file_id) WHERE due_at IS NOT NULL;

   CREATE TABLE file_notes (
     owner TEXT NOT NULL,
     file_id TEXT NOT NULL,
     thread_id TEXT NOT NULL,
     at INTEGER NOT NULL,
     PRIMARY KEY (owner, file_id, thread_id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX file_notes_of_thread ON file_notes (owner, thread_id, file_id)`,
  // Rows stand in the order in which they were made, as do entries that begin with an id of ours: what is new goes to the last page,
  // where one page takes the rows of many threads. In the order of the threads each row had a page to itself, and often split it.
  `ALTER TABLE messages RENAME TO old_messages;
   CREATE TABLE messages (
     ref INTEGER NOT NULL,
     position INTEGER NOT NULL,
     message_id TEXT NOT NULL,
     json BLOB NOT NULL,
     in_context INTEGER NOT NULL,
     version INTEGER
   ) STRICT;
   INSERT INTO messages SELECT ref, position, message_id, json, in_context, version FROM old_messages ORDER BY ref, position;
   DROP TABLE old_messages;
   CREATE UNIQUE INDEX messages_by_position ON messages (ref, position);
   CREATE UNIQUE INDEX messages_by_id ON messages (message_id, ref);

   ALTER TABLE checkpoints RENAME TO old_checkpoints;
   CREATE TABLE checkpoints (
     ref INTEGER NOT NULL,
     version INTEGER NOT NULL,
     source TEXT NOT NULL,
     run_id TEXT,
     step INTEGER,
     nodes TEXT NOT NULL,
     next TEXT NOT NULL,
     at INTEGER NOT NULL,
     metadata BLOB,
     undo BLOB NOT NULL,
     work TEXT
   ) STRICT;
   INSERT INTO checkpoints
     SELECT ref, version, source, run_id, step, nodes, next, at, metadata, undo, work FROM old_checkpoints ORDER BY ref, version;
   DROP TABLE old_checkpoints;
   CREATE UNIQUE INDEX checkpoints_by_version ON checkpoints (ref, version);

   ALTER TABLE runs RENAME TO old_runs;
   CREATE TABLE runs (
     owner TEXT NOT NULL,
     run_id TEXT NOT NULL,
     ref INTEGER NOT NULL,
     thread_id TEXT NOT NULL,
     request_id TEXT NOT NULL,
     status TEXT NOT NULL,
     granularity TEXT NOT NULL,
     is_new_thread INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     resumes TEXT,
     "end" TEXT,
     options BLOB NOT NULL,
     input BLOB,
     answers TEXT NOT NULL,
     has_new_input INTEGER NOT NULL,
     resume TEXT,
     output_from INTEGER,
     output_to INTEGER,
     wake_at INTEGER,
     usage TEXT
   ) STRICT;
   INSERT INTO runs SELECT owner, run_id, ref, thread_id, request_id, status, granularity, is_new_thread, created_at, updated_at,
     resumes, "end", options, input, answers, has_new_input, resume, output_from, output_to, wake_at, usage FROM old_runs;
   DROP TABLE old_runs;
   CREATE UNIQUE INDEX runs_by_id ON runs (run_id, owner);
   CREATE INDEX runs_of_thread ON runs (ref, created_at);
   CREATE INDEX runs_of_owner ON runs (owner, created_at);
   CREATE INDEX runs_open ON runs (run_id) WHERE status IN ('queued', 'running');
   CREATE INDEX runs_sleeping ON runs (wake_at, run_id, owner, thread_id) WHERE status = 'sleeping';

   ALTER TABLE applied RENAME TO old_applied;
   -- In order of time: 'due' is 1024 times the millisecond since 1970 from which a row may go, and a count.
   CREATE TABLE applied (
     due INTEGER PRIMARY KEY,
     ref INTEGER NOT NULL,
     id TEXT NOT NULL,
     reply BLOB NOT NULL
   ) STRICT;
   INSERT INTO applied SELECT until * 1024 + row_number() OVER (PARTITION BY until) - 1, ref, id, reply FROM old_applied;
   DROP TABLE old_applied;
   -- The end of an id of ours: a quarter of it, which tells all but few apart.
   CREATE INDEX applied_by_id ON applied (ref, substr(id, -12))`,
  // Where the context has no message: a reader leaves these ranges out. Most threads have none; an index of the messages in the context
  // had to be written for each message.
  `CREATE TABLE gaps (
     ref INTEGER NOT NULL,
     start INTEGER NOT NULL,
     stop INTEGER NOT NULL,
     PRIMARY KEY (ref, start)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO gaps
     SELECT ref, min(position), max(position) + 1
     FROM (
       SELECT ref, position, is_out,
         row_number() OVER (PARTITION BY ref ORDER BY position) - row_number() OVER (PARTITION BY ref, is_out ORDER BY position) AS island
       FROM (SELECT ref, position, in_context <> context_number AS is_out FROM messages JOIN threads USING (ref))
     )
     WHERE is_out GROUP BY ref, island`,
  // The agent that the thread belongs to; null before its first run, and for `default`.
  'ALTER TABLE threads ADD COLUMN agent TEXT',
  // Ids of ours are 16 bytes each: a text of 36 takes more than twice the room, in each index too. A run's thread is that of its `ref`.
  `ALTER TABLE checkpoints RENAME TO old_checkpoints;
   CREATE TABLE checkpoints (
     ref INTEGER NOT NULL,
     version INTEGER NOT NULL,
     source TEXT NOT NULL,
     run_id ANY,
     step INTEGER,
     nodes TEXT NOT NULL,
     next TEXT NOT NULL,
     at INTEGER NOT NULL,
     metadata BLOB,
     undo BLOB NOT NULL,
     work TEXT
   ) STRICT;
   INSERT INTO checkpoints SELECT ref, version, source, ${storedIdOf('run_id')}, step, nodes, next, at, metadata, undo, work
     FROM old_checkpoints ORDER BY rowid;
   DROP TABLE old_checkpoints;
   CREATE UNIQUE INDEX checkpoints_by_version ON checkpoints (ref, version);

   ALTER TABLE runs RENAME TO old_runs;
   CREATE TABLE runs (
     owner TEXT NOT NULL,
     run_id ANY NOT NULL,
     ref INTEGER NOT NULL,
     request_id ANY NOT NULL,
     status TEXT NOT NULL,
     granularity TEXT NOT NULL,
     is_new_thread INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     resumes TEXT,
     "end" TEXT,
     options BLOB NOT NULL,
     input BLOB,
     answers TEXT NOT NULL,
     has_new_input INTEGER NOT NULL,
     resume TEXT,
     output_from INTEGER,
     output_to INTEGER,
     wake_at INTEGER,
     usage TEXT
   ) STRICT;
   INSERT INTO runs SELECT owner, ${storedIdOf('run_id')}, ref, ${storedIdOf('request_id')}, status, granularity, is_new_thread,
     created_at, updated_at, resumes, "end", options, input, answers, has_new_input, resume, output_from, output_to, wake_at, usage
     FROM old_runs ORDER BY rowid;
   DROP TABLE old_runs;
   CREATE UNIQUE INDEX runs_by_id ON runs (run_id, owner);
   CREATE INDEX runs_of_thread ON runs (ref, created_at);
   CREATE INDEX runs_of_owner ON runs (owner, created_at);
   CREATE INDEX runs_open ON runs (run_id) WHERE status IN ('queued', 'running');
   CREATE INDEX runs_sleeping ON runs (wake_at, run_id) WHERE status = 'sleeping'`,
  `CREATE TABLE agents (
     name TEXT PRIMARY KEY,
     changes INTEGER NOT NULL,
     routing TEXT NOT NULL,
     rest TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE agent_definitions (
     agent TEXT NOT NULL,
     revision TEXT NOT NULL,
     schema_hash TEXT NOT NULL,
     graph BLOB NOT NULL,
     fields BLOB NOT NULL,
     tools BLOB NOT NULL,
     nodes TEXT NOT NULL,
     PRIMARY KEY (agent, revision, schema_hash)
   ) STRICT`,
  // The revision that serves the run: of the run that holds the thread, of the one that began last on it, and of each run.
  `ALTER TABLE threads ADD COLUMN revision TEXT;
   ALTER TABLE threads ADD COLUMN last_revision TEXT;
   ALTER TABLE runs ADD COLUMN served_by TEXT`,
  // The agent of the run's thread, for the list of the runs of one agent. Runs of `default` have none, and no place in the index.
  `ALTER TABLE runs ADD COLUMN agent TEXT;
   UPDATE runs SET agent = threads.agent FROM threads WHERE threads.ref = runs.ref AND threads.agent IS NOT NULL;
   CREATE INDEX runs_of_agent ON runs (owner, agent, created_at) WHERE agent IS NOT NULL`,
];
