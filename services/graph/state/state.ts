import type { Message } from '@agent-workflow/protos/message';
import type { Field, Fields } from './field.ts';

/** What a node reads: its graph's fields, the messages that the model sees, and the summary of those it no longer sees. */
export type State<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never } & {
  readonly context: readonly Message[];
  readonly context_summary: string;
};

/** A message as a node may write it: an id and a time are given when they are absent. */
export interface NewMessage {
  readonly message_id?: string;
  readonly role?: Message['role'];
  readonly content: string | readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly timestamp?: string;
}

/** What a node gives back: the fields it changes, and whole messages to add. */
export type Update<F extends Fields> = { readonly [K in keyof F]?: F[K] extends Field<infer T> ? T : never } & {
  readonly messages?: readonly NewMessage[];
  readonly context_summary?: string;
  /**
   * Ids of messages that the model is to see no more; the thread's log keeps them. Each must be in the context, or among
   * what this step adds. Results go with the calls that they answer: a call that is left without them is open again.
   */
  readonly removed_from_context?: readonly string[];
};

/** Field values and context between two steps. Everything in it is frozen, so that it can be kept and shared. */
export interface EngineState {
  /** Declared fields, defaults filled in, and `context_summary`. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly context: readonly Message[];
}

/** Freezes a JSON value all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

/** Adds messages to a context. With `mayReplace` one whose id is there replaces it in place; without, all ids are new. */
export function withMessages(
  context: readonly Message[],
  messages: readonly Message[],
  mayReplace: boolean,
): readonly Message[] {
  // New ids are the rule, and looking for old ones would make a step cost what the thread is long.
  // `concat` is many times slower than a spread where the context is frozen.
  if (!mayReplace) return messages.length === 0 ? context : [...context, ...messages];
  const byId = new Map(messages.map((message) => [message.message_id, message]));
  const replaced = context.map((message) => {
    const newer = byId.get(message.message_id);
    byId.delete(message.message_id);
    return newer ?? message;
  });
  return replaced.concat([...byId.values()]);
}

/** A context without the messages of these ids. */
export function withoutMessages(context: readonly Message[], ids: readonly string[]): readonly Message[] {
  if (ids.length === 0) return context;
  const gone = new Set(ids);
  return context.filter(({ message_id: id }) => !gone.has(id));
}
