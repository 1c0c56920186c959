import type { JsonObject } from './json.ts';

/** What an assistant holds: an agent, and what its runs have beside what their requests give. */
export interface NewAssistant {
  /** Absent: the service makes one. */
  readonly assistant_id?: string;
  readonly agent?: string;
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: JsonObject;
  readonly config?: JsonObject;
  readonly context?: JsonObject;
}

/** The fields to replace, and the version that was read, where the change depends on it. */
export interface AssistantChange extends Omit<NewAssistant, 'assistant_id'> {
  readonly version?: number;
}

interface AssistantContent {
  readonly assistant_id: string;
  readonly version: number;
  readonly agent: string | null;
  readonly name: string | null;
  readonly description: string | null;
  readonly metadata: JsonObject;
  readonly config: JsonObject;
  readonly context: JsonObject;
  readonly created_at: string;
}

/** An assistant with the version that runs have. */
export interface Assistant extends AssistantContent {
  readonly newest_version: number;
  readonly updated_at: string;
}

/** One version of an assistant. It never changes. */
export type AssistantVersion = AssistantContent;

export interface AssistantsQuery {
  readonly agent?: string;
  /** A part of the name. */
  readonly name?: string;
  /** Values at the top of the metadata. */
  readonly metadata?: JsonObject;
  readonly limit?: number;
  readonly cursor?: string | undefined;
}
