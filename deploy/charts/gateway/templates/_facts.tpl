{{- define "gateway.facts" -}}
component: gateway
main: gateway/main.js
http: true
agent: true
readsGrants: true
calls: [threads, execution, memory]
calledComponents: [threads, execution-api, memory]
reports: [requests, redis]
{{- end -}}
