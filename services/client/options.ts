import type { RequestOptions } from './request.ts';
import type { MemoryScope } from './shapes/memories.ts';

export interface AgentOptions extends RequestOptions {
  /** The agent, where the service has several: the default unless given. */
  readonly agent?: string | undefined;
}

export interface StopOptions extends RequestOptions {
  /** Whether what the step under way has streamed stays, as messages with `metadata.partial`. */
  readonly keepPartial?: boolean | undefined;
}

export interface ScopeOptions extends RequestOptions {
  readonly scope?: MemoryScope | undefined;
}

export const keeping = (isKept: boolean | undefined): object => (isKept === undefined ? {} : { keep_partial: isKept });

interface OfStatuses {
  readonly status?: string | readonly string[] | undefined;
}

/** Several statuses stand in one parameter. */
export const withStatuses = <Q extends OfStatuses>({ status, ...query }: Q) => ({
  ...query,
  status: [status ?? []].flat().join(',') || undefined,
});
