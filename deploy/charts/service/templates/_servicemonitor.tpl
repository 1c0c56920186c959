{{/* The Service by which Prometheus finds the pods, and the monitor that selects it. */}}
{{- define "service.servicemonitor" -}}
{{- $c := include "service.context" . | fromYaml -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "service.metadata" (dict "context" $c "name" (printf "%s-metrics" $c.name)) | nindent 2 }}
    agent-workflow/metrics: "true"
spec:
  clusterIP: None
  {{- with include "service.ipFamilies" $c | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  # What is not ready is watched all the same.
  publishNotReadyAddresses: true
  selector:
    {{- include "service.selector" $c | nindent 4 }}
  ports:
    - name: metrics
      port: 9464
      targetPort: metrics
      appProtocol: http
{{- if $c.global.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
    {{- with $c.global.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "service.selector" $c | nindent 6 }}
      agent-workflow/metrics: "true"
  namespaceSelector:
    matchNames:
      - {{ $c.namespace }}
  targetLabels:
    - app.kubernetes.io/instance
    - app.kubernetes.io/component
  endpoints:
    - port: metrics
      path: /metrics
      interval: {{ $c.global.serviceMonitor.interval }}
{{- end }}
{{- end -}}
