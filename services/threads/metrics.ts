import type { PartHealth } from '@agent-workflow/runtime/health';
import { counter, histogram, type Registry } from '@agent-workflow/runtime/metrics';
import type { Asked } from './adapters/cassandra/client.ts';

const kinds = ['read', 'serial_read', 'write', 'conditional_write'] as const;

/** What the threads service measures of its record. */
export const threadsMetrics = {
  statements: counter(
    'agent_workflow_cassandra_statements_total',
    'Statements sent to Cassandra; `lost`: another write came first, and it is tried again',
    { kind: kinds, outcome: ['ok', 'lost', 'failed'] },
  ),
  seconds: histogram(
    'agent_workflow_cassandra_statement_seconds',
    'Time until Cassandra answered a statement, or failed to',
    { kind: kinds },
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  ),
};

/** Hears of each request to Cassandra as it is sent, and of how it ended. */
export function countStatements(registry: Registry): (asked: Asked) => void {
  const { statements, seconds } = registry.make(threadsMetrics);
  return ({ kind: words, answered }) => {
    const start = performance.now();
    const kind = words.replace(' ', '_');
    void answered.then((outcome) => {
      statements.add({ kind, outcome });
      seconds.observe({ kind }, (performance.now() - start) / 1000);
    });
  };
}

/** Milliseconds without a failure after which Cassandra counts as there again. */
const quietMs = 5000;

/** Reports Cassandra as away while statements fail. */
export function watchStatements(
  health: PartHealth,
  clock: () => number = () => performance.now(),
): (asked: Asked) => void {
  let failedAt = -Infinity;
  return ({ kind, answered }) => {
    void answered.then((outcome) => {
      const now = clock();
      if (outcome === 'failed') {
        failedAt = now;
        health.fails('it is away, or too slow', new Error(`a ${kind} failed`));
      } else if (now - failedAt > quietMs) health.works();
    });
  };
}
