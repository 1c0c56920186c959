/**
 * The schema: the first migration makes it, and a change of it is one more. `ref` stands for (owner, thread_id) so that rows below a
 * thread carry one small number; it is found through the whole key only. Rows stand in the order in which they were made, as do entries
 * that begin with an id of ours: what is new goes to the last page, where one page takes the rows of many threads. In the order of the
 * threads each row had a page to itself, and often split it. Ids of ours are 16 bytes each: a text of 36 takes more than twice the room,
 * in each index too.
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
     worker TEXT,
     found_version INTEGER,
     checkpoints_since INTEGER,
     field_bytes INTEGER NOT NULL,
     context_bytes INTEGER NOT NULL,
     -- A message is part of the context while its 'in_context' is this number: clearing a context writes one row.
     context_number INTEGER NOT NULL DEFAULT 1,
     -- The agent that the thread belongs to; null before its first run, and for 'default'.
     agent TEXT,
     -- The revision that serves the run that holds the thread, and that of the one that began last on it.
     revision TEXT,
     last_revision TEXT,
     UNIQUE (owner, thread_id)
   ) STRICT;
   CREATE INDEX threads_by_recency ON threads (owner, deleting, updated_at, thread_id);
   CREATE INDEX threads_deleting ON threads (deleting) WHERE deleting = 1;
   CREATE INDEX threads_by_checkpoint_age ON threads (checkpoints_since) WHERE checkpoints_since IS NOT NULL;

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
     -- The version that put the message, when it has a checkpoint.
     version INTEGER
   ) STRICT;
   CREATE UNIQUE INDEX messages_by_position ON messages (ref, position);
   CREATE UNIQUE INDEX messages_by_id ON messages (message_id, ref);

   -- Where the context has no message: a reader leaves these ranges out. Most threads have none; an index of the messages in the context
   -- had to be written for each message.
   CREATE TABLE gaps (
     ref INTEGER NOT NULL,
     start INTEGER NOT NULL,
     stop INTEGER NOT NULL,
     PRIMARY KEY (ref, start)
   ) STRICT, WITHOUT ROWID;

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
     wake_at INTEGER,
     -- The tokens by model that the run has taken: JSON.
     usage TEXT,
     -- The revision that serves the run.
     served_by TEXT,
     -- The agent of the run's thread, for the list of the runs of one agent. Runs of 'default' have none, and no place in the index.
     agent TEXT,
     answers TEXT NOT NULL,
     has_new_input INTEGER NOT NULL,
     resume TEXT,
     output_from INTEGER,
     output_to INTEGER,
     -- The large ones stand last: where they do not fit on the row's page, SQLite reads past them to what is behind.
     options BLOB NOT NULL,
     input BLOB
   ) STRICT;
   CREATE UNIQUE INDEX runs_by_id ON runs (run_id, owner);
   CREATE INDEX runs_of_thread ON runs (ref, created_at);
   CREATE INDEX runs_of_owner ON runs (owner, created_at);
   CREATE INDEX runs_of_agent ON runs (owner, agent, created_at) WHERE agent IS NOT NULL;
   CREATE INDEX runs_open ON runs (run_id) WHERE status IN ('queued', 'running');
   CREATE INDEX runs_sleeping ON runs (wake_at, run_id) WHERE status = 'sleeping';

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
     -- How the step ran: JSON.
     work TEXT
   ) STRICT;
   CREATE UNIQUE INDEX checkpoints_by_version ON checkpoints (ref, version);

   CREATE TABLE tool_calls (
     ref INTEGER NOT NULL,
     run_id TEXT NOT NULL,
     call_key TEXT NOT NULL,
     result BLOB,
     PRIMARY KEY (ref, run_id, call_key)
   ) STRICT, WITHOUT ROWID;

   -- Which requests a thread's changes have applied, and their replies, in order of time: 'due' is 1024 times the millisecond since 1970
   -- from which a row may go, and a count.
   CREATE TABLE applied (
     due INTEGER PRIMARY KEY,
     ref INTEGER NOT NULL,
     id TEXT NOT NULL,
     reply BLOB NOT NULL
   ) STRICT;
   -- The end of an id of ours: a quarter of it, which tells all but few apart.
   CREATE INDEX applied_by_id ON applied (ref, substr(id, -12));

   CREATE TABLE once (
     owner TEXT NOT NULL,
     key TEXT NOT NULL,
     body_hash TEXT NOT NULL,
     reply BLOB,
     at INTEGER NOT NULL,
     attempt TEXT,
     is_left INTEGER NOT NULL DEFAULT 0,
     PRIMARY KEY (owner, key)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX once_by_time ON once (at);

   CREATE TABLE files (
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
   CREATE INDEX file_notes_of_thread ON file_notes (owner, thread_id, file_id);

   CREATE TABLE agents (
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
  `CREATE TABLE resources (
     owner TEXT NOT NULL,
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     version INTEGER NOT NULL,
     -- The id of the write that made the version.
     attempt TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     due_at INTEGER,
     json BLOB NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX resources_by_id ON resources (owner, kind, id);
   CREATE INDEX resources_due ON resources (kind, due_at, owner, id) WHERE due_at IS NOT NULL`,
  `CREATE INDEX runs_asking ON runs (wake_at, run_id) WHERE status = 'interrupted' AND wake_at IS NOT NULL`,
  'ALTER TABLE runs ADD COLUMN webhook TEXT',
  // The last run that failed while it was the newest; and for how many seconds the thread is kept after its last change.
  'ALTER TABLE threads ADD COLUMN failed_run TEXT; ALTER TABLE threads ADD COLUMN ttl INTEGER',
  'ALTER TABLE runs ADD COLUMN priority INTEGER',
  'ALTER TABLE threads ADD COLUMN title TEXT; ALTER TABLE runs ADD COLUMN started_at INTEGER',
  // What went on within the step: its spans, and what is for operators alone.
  'ALTER TABLE checkpoints ADD COLUMN trace BLOB; ALTER TABLE checkpoints ADD COLUMN trace_content BLOB',
  // How many runs were accepted on the thread, and the how manieth a run is.
  'ALTER TABLE threads ADD COLUMN run_count INTEGER; ALTER TABLE runs ADD COLUMN ordinal INTEGER',
  // The run that answers what a run asked.
  'ALTER TABLE runs ADD COLUMN resumed_by TEXT',
  // The open questions that others than the owner answer: JSON.
  'ALTER TABLE threads ADD COLUMN addressed TEXT',
  // Of all owners: for operators.
  'CREATE INDEX runs_by_time ON runs (created_at)',
  // Set where others than the owner have given an answer since the graph began at its start.
  'ALTER TABLE threads ADD COLUMN answered_by_others INTEGER',
];
