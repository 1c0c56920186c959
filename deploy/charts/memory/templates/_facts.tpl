{{- define "memory.facts" -}}
component: memory
main: services/memory/main.js
grpc: true
admitsPools: grants
callers: [gateway, execution-api, execution-worker, agent]
needs: [WEAVIATE_URL]
reports: [calls, memories]
{{- end -}}
