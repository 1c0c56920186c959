import type { Json, JsonObject } from './json.ts';
import type { Page } from './lists.ts';

/** A part of a message's content. Blocks of other types than these are kept as they came. */
export interface Block {
  readonly type: string;
  readonly [field: string]: Json;
}

/** A message that is sent: its id and time are given by the service unless they are there. */
export interface NewMessage {
  readonly role: 'user' | 'assistant' | 'system' | 'tool';
  readonly content: string | readonly Block[];
  readonly message_id?: string;
  readonly metadata?: JsonObject;
  readonly timestamp?: string;
}

export interface Message {
  readonly message_id: string;
  readonly role: NewMessage['role'];
  readonly content: readonly Block[];
  readonly metadata?: JsonObject;
  readonly timestamp: string;
  /** In lists and of a single message: where a fork begins after what came with it. Absent when it is not known, as in forks. */
  readonly checkpoint_id?: string;
}

export interface ToolDeclaration {
  readonly name: string;
  readonly node_name?: string;
  readonly description?: string;
  /** JSON Schema of an object. */
  readonly parameters?: JsonObject;
}

/** Which messages of a thread are listed, and whether the oldest (`asc`, the default) or the newest come first. */
export interface MessagesQuery extends Page {
  readonly order?: 'asc' | 'desc';
}
