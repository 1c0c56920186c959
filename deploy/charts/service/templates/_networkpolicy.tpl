{{/* Peers of the same instance. Takes `context`, `components`, and `namespace`: where they are, when it is another one. */}}
{{- define "service.peers" -}}
{{- range .components }}
- podSelector:
    matchLabels:
      app.kubernetes.io/part-of: agent-workflow
      app.kubernetes.io/instance: {{ $.context.instance }}
      app.kubernetes.io/component: {{ . }}
  {{- with $.namespace }}
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* The peers of `agentPools`: without a selector, the workers and Jobs of the chart `agent` that call this part. Takes a context. */}}
{{- define "service.agentPools" -}}
{{- $c := . -}}
{{- $components := list -}}
{{- range $c.facts.callers }}{{ if hasPrefix "agent" . }}{{ $components = append $components . }}{{ end }}{{ end -}}
{{- range ternary $c.global.networkPolicy.agentPools list (gt (len $components) 0) }}
{{- if .podSelector }}
- podSelector:
    {{- toYaml .podSelector | nindent 4 }}
  namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ .namespace }}
{{- else }}
{{- include "service.peers" (dict "context" $c "components" $components "namespace" .namespace) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What a process may reach: DNS, the services that it calls, and the ports and rules of the values. */}}
{{- define "service.egress" -}}
{{- $elsewhere := ternary "" .platform (eq .platform .namespace) -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- with .facts.calledComponents }}
- to:
    {{- include "service.peers" (dict "context" $ "components" . "namespace" $elsewhere) | trim | nindent 4 }}
  ports:
    - port: 50051
      protocol: TCP
{{- end }}
{{- with .facts.files }}
- to:
    {{- include "service.peers" (dict "context" $ "components" (list .) "namespace" $elsewhere) | trim | nindent 4 }}
  ports:
    - port: 8000
      protocol: TCP
{{- end }}
{{- with concat (.facts.reaches | default list) .values.networkPolicy.egressPorts .values.networkPolicy.extraEgressPorts | uniq }}
- ports:
    {{- range . }}
    - port: {{ . | int }}
      protocol: TCP
    {{- end }}
{{- end }}
{{- with .values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "service.ingressRules" -}}
{{- if .facts.http }}
- ports:
    - port: http
      protocol: TCP
{{- end }}
{{- with .facts.callers }}
- from:
    {{- include "service.peers" (dict "context" $ "components" .) | trim | nindent 4 }}
    {{- with include "service.agentPools" $ | trim }}
    {{- . | nindent 4 }}
    {{- end }}
  ports:
    - port: grpc
      protocol: TCP
{{- end }}
{{- with .global.networkPolicy.metricsFrom }}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    - port: metrics
      protocol: TCP
{{- end }}
{{- if .facts.countsRuns }}
{{- $pools := .global.networkPolicy.agentPools }}
{{- with .values.worker.keda }}
{{- if or .enabled $pools }}
- from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ .namespace }}
  ports:
    - port: metrics
      protocol: TCP
{{- end }}
{{- end }}
{{- end }}
{{- with .values.networkPolicy.extraIngress }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "service.networkpolicy" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- if $c.global.networkPolicy.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "service.selector" $c | nindent 6 }}
  policyTypes:
    - Ingress
    - Egress
  {{- with include "service.ingressRules" $c | trim }}
  ingress:
    {{- . | nindent 4 }}
  {{- end }}
  egress:
    {{- include "service.egress" $c | nindent 4 }}
{{- end -}}
{{- end -}}
