{{/*
One alert. Takes `context`, `alert`, `expr`, `for`, `severity`, `summary` (what happens) and `description` (what follows from it).
deploy/guide/alerts.md explains what to do about each.
*/}}
{{- define "service.alert" -}}
- alert: {{ .alert }}
  expr: {{ .expr | quote }}
  for: {{ .for }}
  labels:
    severity: {{ .severity }}
    component: {{ .context.facts.component }}
  annotations:
    summary: {{ .summary | quote }}
    description: {{ .description | quote }}
    {{- with .context.global.prometheusRule.runbook }}
    runbook_url: {{ printf "%s#%s" . ($.alert | lower) | quote }}
    {{- end }}
{{- end -}}

{{- define "service.alerts" -}}
{{- $c := . -}}
{{- $name := .name -}}
{{- $deployment := printf "namespace=%q, deployment=%q" .namespace .name -}}
{{- $pods := printf "namespace=%q, pod=~\"%s-.*\", container=%q" .namespace .name .facts.component -}}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowPartDown" "severity" "critical" "for" "2m"
  "expr" (printf "kube_deployment_spec_replicas{%s} > 0 and kube_deployment_status_replicas_available{%s} == 0" $deployment $deployment)
  "summary" (printf "No pod of %s is ready." $name)
  "description" "Requests that need it are answered with 503. Accepted runs are not lost: they continue when it is ready.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowPartDegraded" "severity" "warning" "for" "15m"
  "expr" (printf "kube_deployment_status_replicas_available{%s} < kube_deployment_spec_replicas{%s}" $deployment $deployment)
  "summary" (printf "Fewer pods of %s are ready than configured." $name)
  "description" "The others take its load. A version that does not become ready is not rolled out further.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRestarting" "severity" "warning" "for" "5m"
  "expr" (printf "increase(kube_pod_container_status_restarts_total{%s}[30m]) > 3" $pods)
  "summary" (printf "A pod of %s restarts again and again." $name)
  "description" "Its last log shows why: memory, an invalid setting, a store that refuses, or code of an agent that blocks the process.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowMemoryNearLimit" "severity" "warning" "for" "15m"
  "expr" (printf "max by (pod) (container_memory_working_set_bytes{%s}) / max by (pod) (kube_pod_container_resource_limits{%s, resource=\"memory\"}) > 0.9" $pods $pods)
  "summary" (printf "A pod of %s uses over 90 %% of its memory limit." $name)
  "description" "Beyond the limit it is killed, and other pods take over its work.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowThrottled" "severity" "warning" "for" "15m"
  "expr" (printf "sum by (pod) (rate(container_cpu_cfs_throttled_periods_total{%s}[5m])) / sum by (pod) (rate(container_cpu_cfs_periods_total{%s}[5m])) > 0.5" $pods $pods)
  "summary" (printf "A pod of %s is throttled by its CPU limit half of the time." $name)
  "description" "Its replies are late, and it may renew its lease too late.") }}
{{- if .global.serviceMonitor.enabled }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowNotScraped" "severity" "warning" "for" "10m"
  "expr" (printf "up{namespace=%q, service=\"%s-metrics\"} == 0" .namespace .name)
  "summary" (printf "The metrics of a pod of %s cannot be read." $name)
  "description" "Prometheus is not admitted, or the process does not answer.") }}
{{- include "service.metricAlerts" . }}
{{- end }}
{{- if include "service.scales" . }}
{{- $hpa := printf "%s%s" (ternary "keda-hpa-" "" (dig "keda" "enabled" false .values)) .name }}
{{- $scaler := printf "namespace=%q, horizontalpodautoscaler=%q" .namespace $hpa }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowAtMost" "severity" "warning" "for" "30m"
  "expr" (printf "kube_horizontalpodautoscaler_status_current_replicas{%s} >= kube_horizontalpodautoscaler_spec_max_replicas{%s}" $scaler $scaler)
  "summary" (printf "%s has its maximum of pods." $name)
  "description" "With more load replies are late, and runs wait longer.") }}
{{- end }}
{{- if dig "keda" "enabled" false .values }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowScalerFailing" "severity" "critical" "for" "10m"
  "expr" (printf "sum(increase(keda_scaler_detail_errors_total{exported_namespace=%q, scaledObject=%q}[5m]) or increase(keda_scaler_detail_errors_total{namespace=%q, scaledObject=%q}[5m])) > 0" .namespace .name .namespace .name)
  "summary" (printf "KEDA cannot read how many runs wait for %s." $name)
  "description" "Workers are neither added nor removed; if there are none, accepted runs wait.") }}
{{- end }}
{{- if and .facts.migrate .values.migration.enabled }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowMigrationFailed" "severity" "critical" "for" "1m"
  "expr" (printf "kube_job_failed{namespace=%q, job_name=\"%s-migrate\", condition=\"true\"} > 0" .namespace .name)
  "summary" "The tables of the record could not be migrated to the new version."
  "description" "The upgrade has not begun: the previous version continues to serve.") }}
{{- end }}
{{- if and .global.tls.enabled .global.tls.certManager.enabled }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowCertificateExpires" "severity" "critical" "for" "1h"
  "expr" (printf "(certmanager_certificate_expiration_timestamp_seconds{exported_namespace=%q, name=%q} or certmanager_certificate_expiration_timestamp_seconds{namespace=%q, name=%q}) - time() < 7 * 86400" .namespace .name .namespace .name)
  "summary" (printf "The certificate of %s expires within a week and was not renewed." $name)
  "description" "When it expires, the other parts refuse its calls.") }}
{{- end }}
{{- if .facts.data }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowVolumeNearlyFull" "severity" "critical" "for" "15m"
  "expr" (printf "kubelet_volume_stats_available_bytes{namespace=%q, persistentvolumeclaim=%q} / kubelet_volume_stats_capacity_bytes{namespace=%q, persistentvolumeclaim=%q} < 0.1" .namespace (.values.persistence.existingClaim | default .name) .namespace (.values.persistence.existingClaim | default .name))
  "summary" (printf "Less than a tenth of the volume of %s is free." $name)
  "description" "Once it is full, nothing is accepted.") }}
{{- end }}
{{- end -}}

{{- define "service.prometheusrule" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- if $c.global.prometheusRule.enabled -}}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
    {{- with $c.global.prometheusRule.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    - name: {{ $c.name }}
      rules:
        {{- include "service.alerts" $c | trim | nindent 8 }}
{{- end -}}
{{- end -}}
