import { requestMetrics } from '@agent-workflow/runtime/requests';

/** What is measured of the record on Cassandra. */
export const cassandraMetrics = requestMetrics({
  requests: [
    'agent_workflow_cassandra_statements_total',
    'Statements sent to Cassandra; `lost`: another write came first, and it is tried again',
  ],
  seconds: ['agent_workflow_cassandra_statement_seconds', 'Time until Cassandra answered a statement, or failed to'],
  kinds: ['read', 'serial_read', 'write', 'conditional_write'],
});
