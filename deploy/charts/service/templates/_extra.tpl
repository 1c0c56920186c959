{{/* The further objects of a chart's values. Takes the root of the chart. */}}
{{- define "service.extraObjects" -}}
{{- $root := . -}}
{{- range .Values.extraObjects }}
---
{{ tpl (ternary . (toYaml .) (kindIs "string" .)) $root }}
{{- end }}
{{- end -}}
