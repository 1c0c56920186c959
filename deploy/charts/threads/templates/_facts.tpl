{{- define "threads.facts" -}}
{{- $config := .Values.config | default dict -}}
{{- $isPostgres := eq (get $config "THREAD_STORE" | toString) "postgres" }}
component: threads
main: services/threads/main.js
migrate: services/threads/migrate.js
grpc: true
admitsPools: grants
callers: [gateway, execution-api, execution-worker, agent, agent-register]
needs: {{ $isPostgres | ternary "[POSTGRES_HOST]" "[CASSANDRA_CONTACT_POINTS, CASSANDRA_LOCAL_DATACENTER]" }}
reports: [calls, record]
{{- if not (hasKey (.Values.networkPolicy | default dict) "egressPorts") }}
reaches: [{{ $isPostgres | ternary (get $config "POSTGRES_PORT" | default 5432) 9042 | int }}]
{{- end }}
recordMetric: {{ $isPostgres | ternary "agent_workflow_postgres_requests_total" "agent_workflow_cassandra_statements_total" }}
recordSummary: {{ $isPostgres | ternary "requests to PostgreSQL" "statements to Cassandra" }}
{{- end -}}
