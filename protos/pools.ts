/**
 * What a worker may call that shows the token of a pool. Above each `rpc` of a `.proto` is the line `// pool: …` with one of these:
 * - `never`: not this;
 * - `agent`: for the agents of its pool, as the request's `agent` names them; its absence means the default;
 * - `run`: with the grant of a claim, where every one of owner, thread, run and epoch that the request has is that of the grant;
 * - `run, also expired`: the same, and the grant may be past its time.
 */
export const poolRules = ['never', 'agent', 'run', 'run, also expired'] as const;

/** The mark of one RPC. */
export type PoolRule = (typeof poolRules)[number];
