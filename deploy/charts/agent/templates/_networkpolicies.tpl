{{/* The policies of a pool: of its workers, of the Job, and one that lets KEDA count runs where the service is in the same namespace. */}}
{{- define "agent.networkpolicies" -}}
{{- include "agent.revisions" (dict "root" . "template" "service.networkpolicy") -}}
{{- if and (include "agent.isPool" .) .Values.revisions .Values.defaults.global.networkPolicy.enabled -}}
{{- $c := include "agent.registrationContext" . | fromYaml -}}
{{- if $c.values.registration.enabled }}
---
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
  egress:
    {{- include "service.egress" $c | nindent 4 }}
{{- end }}
{{- if and .Values.keda.enabled (eq $c.platform $c.namespace) }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "service.metadata" (dict "context" $c "name" (printf "%s-keda" (include "agent.name" .))) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/part-of: agent-workflow
      app.kubernetes.io/instance: {{ $c.instance }}
      app.kubernetes.io/component: execution-api
  policyTypes:
    - Ingress
  ingress:
    - from:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: {{ .Values.keda.namespace }}
      ports:
        - port: metrics
          protocol: TCP
{{- end }}
{{- end -}}
{{- end -}}
