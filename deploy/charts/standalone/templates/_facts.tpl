{{- define "standalone.facts" -}}
component: standalone
main: services/standalone/main.js
http: true
agent: true
data: /data
env: { DATA_DIR: /data }
reports: [requests, memories, queue, runs]
{{- end -}}
