/** Whose code it is that runs, as far as that is known. */
export interface CodeOrigin {
  /** Absent for what the agent's module does by itself. */
  readonly runId?: string;
  readonly threadId?: string;
  /** Absent between nodes: in reducers and routes, and where the service itself works for the run. */
  readonly node?: string;
}

/** The symbol under which the main thread's global object has a function that gives a {@link CodeOrigin} as JSON. */
export const originSymbol = 'agent-workflow.code-origin';
