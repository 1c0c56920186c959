{{- define "threads.facts" -}}
{{- $isPostgres := eq (get (.Values.config | default dict) "THREAD_STORE" | toString) "postgres" }}
component: threads
main: services/threads/main.js
migrate: services/threads/migrate.js
grpc: true
admitsPools: grants
callers: [gateway, execution-api, execution-worker, agent, agent-register]
needs: {{ $isPostgres | ternary "[POSTGRES_HOST]" "[CASSANDRA_CONTACT_POINTS, CASSANDRA_LOCAL_DATACENTER]" }}
reports: [calls, record]
recordMetric: {{ $isPostgres | ternary "agent_workflow_postgres_requests_total" "agent_workflow_cassandra_statements_total" }}
recordSummary: {{ $isPostgres | ternary "requests to PostgreSQL" "statements to Cassandra" }}
{{- end -}}
