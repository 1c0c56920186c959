{{/* Peers of the same instance. Takes `context` and `components`. */}}
{{- define "service.peers" -}}
{{- range .components }}
- podSelector:
    matchLabels:
      app.kubernetes.io/part-of: agent-workflow
      app.kubernetes.io/instance: {{ $.context.instance }}
      app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* What a process may reach: DNS, the services that it calls, and the ports and rules of the values. */}}
{{- define "service.egress" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- with .facts.calledComponents }}
- to:
    {{- include "service.peers" (dict "context" $ "components" .) | trim | nindent 4 }}
  ports:
    - port: 50051
      protocol: TCP
{{- end }}
{{- with .facts.files }}
- to:
    {{- include "service.peers" (dict "context" $ "components" (list .)) | trim | nindent 4 }}
  ports:
    - port: 8000
      protocol: TCP
{{- end }}
{{- with concat .values.networkPolicy.egressPorts .values.networkPolicy.extraEgressPorts | uniq }}
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
{{- with .values.worker.keda }}
{{- if .enabled }}
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
