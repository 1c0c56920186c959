import type { Message } from '@agent-workflow/protos/message';
import type { Field, Fields } from './field.ts';

/** What a node reads: the fields of its graph, the messages that the model sees, and the summary of those that were removed. */
export type State<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never } & {
  readonly context: readonly Message[];
  readonly context_summary: string;
};

/** A message as a node returns it. The service adds an id, the role `assistant` and a time where they are absent. */
export interface NewMessage {
  readonly message_id?: string;
  readonly role?: Message['role'];
  readonly content: string | readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly timestamp?: string;
}

/** What a node returns: the fields that it changes, and whole messages to add. */
export type Update<F extends Fields> = { readonly [K in keyof F]?: F[K] extends Field<infer T> ? T : never } & {
  readonly messages?: readonly NewMessage[];
  readonly context_summary?: string;
  /**
   * Ids of messages to remove from the context: the model does not see them any more, the thread's log keeps them. Each must be in the
   * context or be added in this step. Remove the results of a tool call together with the call: a call without results is open again.
   */
  readonly removed_from_context?: readonly string[];
};

/** Field values and context between two steps. All of it is frozen, because the next step and the thread cache share it. */
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

/** Adds messages to a context. With `mayReplace`, a message whose id is in the context replaces that one in place; otherwise all ids are new. */
export function withMessages(
  context: readonly Message[],
  messages: readonly Message[],
  mayReplace: boolean,
): readonly Message[] {
  // Most messages have new ids. A search for old ones would make the cost of a step grow with the thread.
  // `concat` of a frozen array is many times slower than that of a copy, and a spread of two lists than both.
  if (!mayReplace) return messages.length === 0 ? context : [...context].concat(messages);
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
