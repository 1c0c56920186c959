import type { PartHealth } from '@agent-workflow/runtime/health';
import { counter, histogram, type Registry } from '@agent-workflow/runtime/metrics';
import type { SentRequest } from './client.ts';

const kinds = ['read', 'change'] as const;

/** What the threads service measures of its record on PostgreSQL. */
export const postgresMetrics = {
  requests: counter(
    'agent_workflow_postgres_requests_total',
    'Reads of one statement, and transactions, sent to PostgreSQL; `lost`: another transaction came first, and it is tried again',
    { kind: kinds, outcome: ['ok', 'lost', 'failed'] },
  ),
  seconds: histogram(
    'agent_workflow_postgres_request_seconds',
    'Time until PostgreSQL answered a read or committed a transaction, or failed to; the wait for a connection included',
    { kind: kinds },
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  ),
};

/** Counts each request to PostgreSQL, by how it ended. */
export function countRequests(registry: Registry): (request: SentRequest) => void {
  const { requests, seconds } = registry.make(postgresMetrics);
  return ({ kind, answered }) => {
    const start = performance.now();
    void answered.then((outcome) => {
      requests.add({ kind, outcome });
      seconds.observe({ kind }, (performance.now() - start) / 1000);
    });
  };
}

/** Milliseconds without a failure after which PostgreSQL counts as there again. */
const quietMs = 5000;

/** Reports PostgreSQL as away while requests fail. */
export function watchRequests(
  health: PartHealth,
  clock: () => number = () => performance.now(),
): (request: SentRequest) => void {
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
