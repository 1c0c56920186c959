import type { Json } from './json.ts';
import type { NewMessage } from './messages.ts';
import type { ThreadStatus } from './threads.ts';

export type ShareRight = 'read' | 'write' | 'answer';

/** Whom a thread is shared with: a user, all who have a role, or everybody who is signed in. */
export type Recipient = { readonly user: string } | { readonly role: string } | { readonly everybody: true };

export interface NewShare {
  readonly to: Recipient;
  /** `read` unless given, which is always among them. */
  readonly rights?: readonly ShareRight[];
  /** When it ends; never unless given. */
  readonly until?: string | number | null;
}

export interface Share {
  readonly share_id: string;
  readonly thread_id: string;
  /** The owner of the thread. */
  readonly user_id: string;
  readonly to: Recipient;
  readonly rights: readonly ShareRight[];
  readonly until: string | null;
  readonly created_at: string;
}

/** A thread that another owner shares with the caller. */
export interface SharedThread extends Share {
  readonly thread_title: string | null;
  readonly status: ThreadStatus;
  readonly updated_at: string;
}

/** What runs in a shared thread. */
export interface SharedRunRequest {
  readonly messages?: readonly NewMessage[];
  /** Needs the right to answer. */
  readonly resume?: Json;
  readonly recursion_limit?: number;
  readonly response_granularity?: 'low' | 'partial' | 'full';
  readonly config?: {
    readonly multitask_strategy?: 'enqueue' | 'reject';
    readonly on_disconnect?: 'continue' | 'cancel';
  };
}
