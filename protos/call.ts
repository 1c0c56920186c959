/** What every call has beside its request. */
export interface Call {
  /** Milliseconds since 1970 UTC. After it the caller gets `Timeout`, also when the work continues. */
  readonly deadline: number;
  /** Fires when the caller goes away or the deadline passes. */
  readonly signal: AbortSignal;
  /** Shared by calls that prefer one replica of each service: what the first one began is known there without a look elsewhere. */
  readonly replicas?: Replicas;
  /** What a worker of a pool shows for the run that the call is made for. */
  readonly grant?: string | undefined;
}

/** The address of the replica that was last called, by service. */
export type Replicas = Map<string, string>;

/** Never fires: for calls that belong to the process itself. */
export const never: AbortSignal = new AbortController().signal;

/** A call that may take `ms` milliseconds from now. */
export const within = (ms: number, signal: AbortSignal = never): Call => ({ deadline: Date.now() + ms, signal });
