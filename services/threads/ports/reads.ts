import type { Head, LogEntry, PlacedEntry, RunRecord, ThreadKey } from './record.ts';

/** Fields and context of one moment. */
export interface StoredState {
  readonly fields: Readonly<Record<string, Uint8Array>>;
  /** In order of the log. */
  readonly context: readonly Uint8Array[];
  /** Whether older messages of the context are left out. */
  readonly isTruncated: boolean;
}

/** The newest messages of a context below some position. */
export interface ContextPage {
  /** In order of the log. */
  readonly entries: readonly LogEntry[];
  /** `entries` holds no message of the context below this position; 0 when it holds all of them. */
  readonly bottom: number;
}

/** The port that reads one thread. Rows of a thread are found by its whole key only. */
export interface ThreadReads {
  readonly getHead: (key: ThreadKey) => Promise<Head | undefined>;
  /**
   * Fields and context as of the head's version at the moment of the call. Of a context that is larger than `maxBytes` the
   * newest messages that fit; without `maxBytes` all of it.
   */
  readonly getState: (key: ThreadKey, maxBytes?: number) => Promise<StoredState>;
  /** The fields alone; with `names` those of them. */
  readonly getFields: (key: ThreadKey, names?: readonly string[]) => Promise<StoredState['fields']>;
  /** The newest messages of the context below position `below`, as many as fit into `maxBytes`, but at least one. */
  readonly listContext: (
    key: ThreadKey,
    page: { readonly below?: number; readonly maxBytes: number },
  ) => Promise<ContextPage>;
  /** The log's entries at these positions, in ascending order; positions without an entry are left out. */
  readonly getEntries: (key: ThreadKey, positions: readonly number[]) => Promise<readonly PlacedEntry[]>;
  /** The message as lists of messages give it. */
  readonly getMessage: (
    key: ThreadKey,
    messageId: string,
  ) => Promise<Pick<LogEntry, 'position' | 'json' | 'version'> | undefined>;
  readonly getRun: (owner: string, runId: string) => Promise<RunRecord | undefined>;
}
