/** The store that is one schema of a database, as an operator reads it. */
export const storeName = (schema: string): string => `the schema ${schema} of PostgreSQL`;

/**
 * The first migration makes the schema, and a change of it is one more. Each is applied once, in a transaction of its own, by `migrate.ts`.
 *
 * `ref` stands for (owner, thread_id), so that rows of a thread carry one number; it is found through the whole key only and never
 * comes again. Texts that are compared or ordered are of collation C, which compares bytes as the other stores do. An index holds
 * at most 2,700 bytes of a row: texts without a bound are indexed by a hash or by their first 256 characters.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE threads (
     ref bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     owner text COLLATE "C" NOT NULL,
     thread_id text COLLATE "C" NOT NULL,
     name text,
     metadata bytea,
     created_at bigint NOT NULL,
     updated_at bigint NOT NULL,
     version bigint NOT NULL,
     epoch bigint NOT NULL,
     step bigint NOT NULL,
     active_run text,
     active_status text,
     worker text,
     found_version bigint,
     newest_run text,
     queue text NOT NULL,
     next_position bigint NOT NULL,
     open_calls text NOT NULL,
     next text NOT NULL,
     interrupted_run text,
     open_interrupts text NOT NULL,
     claims bigint NOT NULL,
     progress bytea,
     field_bytes bigint NOT NULL,
     context_bytes bigint NOT NULL,
     context_number bigint NOT NULL DEFAULT 1,
     checkpoints_since bigint,
     deleting boolean NOT NULL,
     -- The agent that the thread belongs to: null before its first run, and for 'default'.
     agent text,
     -- The revision that serves the run that holds the thread, and that of the one that began last on it.
     revision text,
     last_revision text,
     UNIQUE (owner, thread_id)
   ) WITH (fillfactor = 70);
   CREATE INDEX threads_by_recency ON threads (owner, updated_at, thread_id) WHERE NOT deleting;
   CREATE INDEX threads_deleting ON threads (ref) WHERE deleting;
   CREATE INDEX threads_by_checkpoint_age ON threads (checkpoints_since) WHERE checkpoints_since IS NOT NULL;

   CREATE TABLE fields (
     ref bigint NOT NULL,
     name_hash text COLLATE "C" NOT NULL,
     name text NOT NULL,
     json bytea NOT NULL,
     PRIMARY KEY (ref, name_hash)
   );

   CREATE TABLE messages (
     ref bigint NOT NULL,
     position bigint NOT NULL,
     message_id text COLLATE "C" NOT NULL,
     json bytea NOT NULL,
     in_context bigint NOT NULL,
     -- The version that put the message, when it has a checkpoint.
     version bigint,
     PRIMARY KEY (ref, position)
   );
   CREATE INDEX messages_by_id ON messages (ref, left(message_id, 256));
   CREATE INDEX messages_in_context ON messages (ref, in_context, position) WHERE in_context > 0;

   CREATE TABLE runs (
     owner text COLLATE "C" NOT NULL,
     run_id text COLLATE "C" NOT NULL,
     ref bigint NOT NULL,
     thread_id text NOT NULL,
     request_id text NOT NULL,
     status text NOT NULL,
     granularity text NOT NULL,
     is_new_thread boolean NOT NULL,
     created_at bigint NOT NULL,
     updated_at bigint NOT NULL,
     resumes text,
     "end" text,
     options bytea NOT NULL,
     input bytea,
     answers text NOT NULL,
     has_new_input boolean NOT NULL,
     resume text,
     output_from bigint,
     output_to bigint,
     wake_at bigint,
     -- The tokens by model that the run has taken: JSON.
     usage text,
     -- The revision that serves the run.
     served_by text,
     -- The agent of the run's thread, for the list of the runs of one agent: null for 'default'. That list joins the thread, which has a
     -- column 'agent'.
     of_agent text COLLATE "C",
     PRIMARY KEY (owner, run_id)
   );
   CREATE INDEX runs_of_thread ON runs (ref, created_at, run_id);
   CREATE INDEX runs_of_owner ON runs (owner, created_at, run_id);
   CREATE INDEX runs_of_agent ON runs (owner, of_agent, created_at, run_id) WHERE of_agent IS NOT NULL;
   CREATE INDEX runs_open ON runs (run_id, owner) WHERE status IN ('queued', 'running');
   CREATE INDEX runs_sleeping ON runs (wake_at, run_id) WHERE status = 'sleeping';

   CREATE TABLE checkpoints (
     ref bigint NOT NULL,
     version bigint NOT NULL,
     source text NOT NULL,
     run_id text,
     step bigint,
     nodes text NOT NULL,
     next text NOT NULL,
     at bigint NOT NULL,
     metadata bytea,
     undo bytea NOT NULL,
     -- How the step ran: JSON.
     work text,
     PRIMARY KEY (ref, version)
   );

   CREATE TABLE tool_calls (
     ref bigint NOT NULL,
     run_id text COLLATE "C" NOT NULL,
     call_key text COLLATE "C" NOT NULL,
     result bytea
   );
   CREATE INDEX tool_calls_of_run ON tool_calls (ref, run_id, left(call_key, 256));

   CREATE TABLE applied (
     ref bigint NOT NULL,
     id text COLLATE "C" NOT NULL,
     reply bytea NOT NULL,
     until bigint NOT NULL
   );
   CREATE INDEX applied_of_thread ON applied (ref, left(id, 256));
   CREATE INDEX applied_by_end ON applied (until);

   CREATE TABLE idempotency (
     owner text COLLATE "C" NOT NULL,
     key_hash text COLLATE "C" NOT NULL,
     body_hash text NOT NULL,
     reply bytea,
     at bigint NOT NULL,
     attempt text,
     is_released boolean NOT NULL DEFAULT false,
     PRIMARY KEY (owner, key_hash)
   );
   CREATE INDEX idempotency_by_time ON idempotency (at);

   CREATE TABLE files (
     owner text COLLATE "C" NOT NULL,
     file_id text COLLATE "C" NOT NULL,
     filename text NOT NULL,
     content_type text,
     sniffed_type text,
     size bigint NOT NULL,
     sha256 text,
     created_at bigint NOT NULL,
     status text NOT NULL,
     due_at bigint,
     noted bigint NOT NULL,
     PRIMARY KEY (owner, file_id)
   );
   CREATE INDEX files_due ON files (due_at, file_id) WHERE due_at IS NOT NULL;

   CREATE TABLE file_notes (
     owner text COLLATE "C" NOT NULL,
     file_id text COLLATE "C" NOT NULL,
     thread_id text COLLATE "C" NOT NULL,
     at bigint NOT NULL,
     PRIMARY KEY (owner, file_id, thread_id)
   );
   CREATE INDEX file_notes_of_thread ON file_notes (owner, thread_id, file_id);

   CREATE TABLE agents (
     name text COLLATE "C" PRIMARY KEY,
     changes bigint NOT NULL,
     routing text NOT NULL,
     rest text NOT NULL
   );
   CREATE TABLE agent_definitions (
     agent text COLLATE "C" NOT NULL,
     revision text COLLATE "C" NOT NULL,
     schema_hash text COLLATE "C" NOT NULL,
     graph bytea NOT NULL,
     fields bytea NOT NULL,
     tools bytea NOT NULL,
     nodes text NOT NULL,
     PRIMARY KEY (agent, revision, schema_hash)
   )`,
  `CREATE TABLE resources (
     owner text COLLATE "C" NOT NULL,
     kind text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL,
     version bigint NOT NULL,
     -- The id of the write that made the version.
     attempt text COLLATE "C" NOT NULL,
     created_at bigint NOT NULL,
     updated_at bigint NOT NULL,
     due_at bigint,
     json bytea NOT NULL,
     PRIMARY KEY (owner, kind, id)
   );
   CREATE INDEX resources_due ON resources (kind, due_at, owner, id) WHERE due_at IS NOT NULL`,
  `CREATE INDEX runs_asking ON runs (wake_at, run_id) WHERE status = 'interrupted' AND wake_at IS NOT NULL`,
  'ALTER TABLE runs ADD COLUMN webhook text',
  // The last run that failed while it was the newest; and for how many seconds the thread is kept after its last change.
  'ALTER TABLE threads ADD COLUMN failed_run text COLLATE "C", ADD COLUMN ttl bigint',
  'ALTER TABLE runs ADD COLUMN priority smallint',
  'ALTER TABLE threads ADD COLUMN title text; ALTER TABLE runs ADD COLUMN started_at bigint',
  // What went on within the step: its spans, and what is for operators alone.
  'ALTER TABLE checkpoints ADD COLUMN trace bytea, ADD COLUMN trace_content bytea',
  // How many runs were accepted on the thread, and the how manieth a run is.
  'ALTER TABLE threads ADD COLUMN run_count bigint; ALTER TABLE runs ADD COLUMN ordinal bigint',
  // The run that answers what a run asked.
  'ALTER TABLE runs ADD COLUMN resumed_by text',
  // The open questions that others than the owner answer: JSON.
  'ALTER TABLE threads ADD COLUMN addressed text',
  // Of all owners: for operators.
  'CREATE INDEX runs_by_time ON runs (created_at, run_id)',
  // Set where others than the owner have given an answer since the graph began at its start.
  'ALTER TABLE threads ADD COLUMN answered_by_others boolean',
];
