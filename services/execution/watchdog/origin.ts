/** The run and node whose code runs, as far as they are known. */
export interface CodeOrigin {
  /** Absent for code of the agent's module outside of any run. */
  readonly runId?: string;
  readonly threadId?: string;
  /** Absent outside of nodes: in reducers and routes, and in the service's own code for the run. */
  readonly node?: string;
}

/** The symbol of a function of the main thread's global object that returns the {@link CodeOrigin} as JSON. */
export const originSymbol = 'agent-workflow.code-origin';
