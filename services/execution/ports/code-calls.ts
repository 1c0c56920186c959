import type { Call } from '@agent-workflow/protos/call';
import type { HeldAgents } from './queue.ts';

/** Values that the code of an agent is to merge into fields of a state. */
export interface ReduceRequest {
  readonly agent: string;
  /** Absent: any revision, as a run without one. */
  readonly revision?: string;
  /** The fields as they are, as JSON; one that is absent has its default. */
  readonly current: Readonly<Record<string, Uint8Array>>;
  /** What they are given: values of JSON. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** The fields as they are to be written, as JSON. */
export type ReducedFields = Readonly<Record<string, Uint8Array>>;

/** Does what a call asks for. @throws ServiceError for the caller; of any other error the caller gets no word. */
export type Reduce = (request: ReduceRequest, signal: AbortSignal) => Promise<ReducedFields>;

/** The calls that are served here. Disposing of it ends those under way. */
export interface CodeService extends AsyncDisposable {
  /** Takes no more calls. Resolves when those under way have ended; never rejects. */
  readonly leave: () => Promise<void>;
}

/**
 * Calls of the code of an agent by a process that does not hold it. They have no effect: what they return is for their caller to write. A
 * call is made by one worker, and may be made again.
 */
export interface CodeCalls extends AsyncDisposable {
  /**
   * Calls a worker that holds the agent at the revision. Resolves with its reply, which may hold any fields with any values: the worker may be
   * another team's; `undefined` when what it answers is no reply.
   * @throws Unavailable when there is none, all are busy, or the worker is lost during the call; Timeout at the deadline; Invalid for too
   * many bytes; the reason of the call's signal; what the worker's code refuses.
   */
  readonly reduce: (request: ReduceRequest, call: Call) => Promise<ReducedFields | undefined>;
  /** Serves calls of the agents that are held, those without a revision included. */
  readonly serve: (held: HeldAgents, reduce: Reduce) => Promise<CodeService>;
}
