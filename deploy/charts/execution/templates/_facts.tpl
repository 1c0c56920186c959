{{- define "execution.api" -}}
component: execution-api
serves: execution
section: api
main: services/execution/main.js
grpc: true
admitsPools: calls
agent: true
env: { ROLE: api }
calls: [threads, memory]
calledComponents: [threads, memory]
callers: [gateway]
needs: [NATS_URL]
countsRuns: true
reports: [calls, queue]
{{- end -}}

{{- define "execution.worker" -}}
component: execution-worker
section: worker
main: services/execution/main.js
agent: true
env: { ROLE: worker }
calls: [threads, memory]
calledComponents: [threads, memory]
files: gateway
needs: [NATS_URL]
reports: [runs]
{{- end -}}

{{/* Whether the release has agents of its own. */}}
{{- define "execution.hasWorkers" -}}
{{- if ne (dig "serviceFile" "agent" "" (.Values.global | default dict) | toString) "none" }}true{{ end -}}
{{- end -}}
