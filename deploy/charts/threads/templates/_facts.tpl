{{- define "threads.facts" -}}
component: threads
main: services/threads/main.ts
migrate: services/threads/migrate.ts
grpc: true
callers: [gateway, execution-api, execution-worker]
needs: [CASSANDRA_CONTACT_POINTS, CASSANDRA_LOCAL_DATACENTER]
reports: [calls, record]
{{- end -}}
