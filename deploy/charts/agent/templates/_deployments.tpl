{{/* The Deployments of a pool. */}}
{{- define "agent.deployments" -}}
{{- if include "agent.isPool" . }}{{ include "agent.checks" . }}{{ end -}}
{{- include "agent.revisions" (dict "root" . "template" "service.deployment") -}}
{{- end -}}
