import { requestMetrics } from '@agent-workflow/runtime/requests';

/** What is measured of the record on PostgreSQL. */
export const postgresMetrics = requestMetrics({
  requests: [
    'agent_workflow_postgres_requests_total',
    'Reads of one statement, and transactions, sent to PostgreSQL; `lost`: another transaction came first, and it is tried again',
  ],
  seconds: [
    'agent_workflow_postgres_request_seconds',
    'Time until PostgreSQL answered a read or committed a transaction, or failed to; the wait for a connection included',
  ],
  kinds: ['read', 'change'],
});
