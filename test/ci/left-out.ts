/**
 * Test files that `npm test` leaves to other commands, by the name of the command in `package.json`, which names the same patterns. Most are suites that would
 * only say there that they are skipped; those of `test:slow` take much processor time for what they say.
 */
export const leftOut: Readonly<Record<string, readonly string[]>> = {
  house: ['test/house/*.test.ts'],
  'test:campaigns': [
    'test/cassandra/{faults,long-log,recency,tombstones}.test.ts',
    'test/chart/install.test.ts',
    'test/cluster/nats-{queue,cluster}.test.ts',
    'test/contract/memory-{agreement,knowledge,repair}.test.ts',
  ],
  'test:faults': ['test/faults/*.test.ts'],
  'test:cluster': [
    'test/cluster/{routing,restricted-pools,pool-tokens,nats-move,played,traces}.test.ts',
    'test/cluster/{replicas,rolling,fair,pools,scale-metric,api-death,deadlines,retry-kills,revocation,schedules}.test.ts',
  ],
  'test:packages': ['test/packages/*.test.ts'],
  'test:browser': ['test/browser/*.test.ts'],
  'test:slow': [
    'test/process/*.test.ts',
    'test/linear/*.test.ts',
    'test/chart/image.test.ts',
    'test/agents/{guide,guide-runs,mcp}.test.ts',
    'test/contract/{execution.pools,execution.published,memory-blocks,pool-limits,pool-replies}.test.ts',
    'test/gateway/bad-inputs.test.ts',
    'test/http/{giant-ends,limits,truncated-ends}.test.ts',
    'services/command/main.test.ts',
    'test/dialects/agui/validate.test.ts',
    'test/dialects/mcp/conformance.test.ts',
    'test/dialects/{a2a,langgraph,mcp,openai}/python.test.ts',
  ],
};
