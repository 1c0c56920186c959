{{/*
Alerts on a part's own metrics, selected by `reports` of its facts. Each series has the labels that the ServiceMonitor adds. Takes a context.
*/}}
{{- define "service.metricAlerts" -}}
{{- $c := . -}}
{{- $name := .name -}}
{{- $here := printf "namespace=%q, service=\"%s-metrics\"" .namespace .name }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowDegraded" "severity" "warning" "for" "5m"
  "expr" (printf "max by (part) (agent_workflow_degraded{%s}) == 1" $here)
  "summary" (printf "A part that %s depends on is unavailable, full or damaged." $name)
  "description" "Requests that do not need it are served; the others are answered with 503 or wait. Pods stay ready: /readyz names the part and the reason.") }}
{{- if has "requests" .facts.reports }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRequestsFail" "severity" "critical" "for" "5m"
  "expr" (printf "%s > 0.05 and sum(increase(agent_workflow_http_requests_total{%s, status=~\"5..\"}[5m])) > 10"
    (include "service.share" (dict "metric" "agent_workflow_http_requests_total" "here" $here "of" "status=~\"5..\"" "in" "5m")) $here)
  "summary" (printf "More than one in twenty requests to %s is answered with 500 or above." $name)
  "description" "Callers see it. 500 is a failure of the agent or of the service; 503 and 504 mean that a part or a server is unavailable or slow.") }}
{{- end }}
{{- if has "redis" .facts.reports }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRedisAway" "severity" "warning" "for" "5m"
  "expr" (printf "min(agent_workflow_redis_up{%s}) == 0" $here)
  "summary" "A gateway does not reach Redis."
  "description" "Each gateway counts limits for itself. Tickets and the registration of tools are answered with 503; after ten minutes, so are runs of owners with registered tools.") }}
{{- end }}
{{- if has "calls" .facts.reports }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowStrangers" "severity" "warning" "for" "5m"
  "expr" (printf "sum(increase(agent_workflow_strangers_total{%s}[15m])) > 0" $here)
  "summary" (printf "%s refuses calls of unauthenticated callers." $name)
  "description" "A part sends a token that this one does not accept, and its calls fail; or the calls come from outside the release.") }}
{{- end }}
{{- if has "record" .facts.reports }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRecordFails" "severity" "critical" "for" "5m"
  "expr" (printf "%s > 0.05"
    (include "service.share" (dict "metric" .facts.recordMetric "here" $here "of" "outcome=\"failed\"" "in" "5m")))
  "summary" (printf "More than one in twenty %s fails." .facts.recordSummary)
  "description" "Nothing is accepted without the record: requests are answered with 503, and runs wait to commit.") }}
{{- end }}
{{- if has "memories" .facts.reports }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowMemoriesFail" "severity" "warning" "for" "5m"
  "expr" (printf "%s > 0.1"
    (include "service.share" (dict "metric" "agent_workflow_calls_total" "here" (printf "%s, method=~\"memory[.].+\"" $here)
      "of" "code=~\"Unavailable|Timeout|StorageFailed|Internal\"" "in" "5m")))
  "summary" "More than one in ten calls about memories fails."
  "description" "The store of memories or the embedder is unavailable. Threads and runs that use no memory continue; threads cannot be deleted.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowEmbedderFails" "severity" "warning" "for" "10m"
  "expr" (printf "%s > 0.1"
    (include "service.share" (dict "metric" "agent_workflow_embedder_calls_total" "here" $here "of" "outcome=\"failed\"" "in" "10m")))
  "summary" "More than one in ten requests to the embedder fails."
  "description" "Memories can be neither stored nor searched until it returns vectors of the configured dimension.") }}
{{- end }}
{{- if has "queue" .facts.reports }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRunsWait" "severity" "warning" "for" "5m"
  "expr" (printf "max(agent_workflow_runs_oldest_wait_seconds{%s}) > 60" $here)
  "summary" "A run has waited for a worker for over a minute."
  "description" "There are too few workers, or no worker claims runs.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowSweepLate" "severity" "critical" "for" "5m"
  "expr" (printf "time() - max(agent_workflow_sweep_last_success_timestamp_seconds{%s}) > 300" $here)
  "summary" "No sweep for runs without a live worker has ended for over five minutes."
  "description" "Runs of dead workers are not taken over, and the metrics of waiting runs are out of date.") }}
{{- end }}
{{- if has "runs" .facts.reports }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRunsFail" "severity" "warning" "for" "15m"
  "expr" (printf "%s > 0.2 and sum(increase(agent_workflow_runs_ended_total{%s, status=\"failed\"}[15m])) > 10"
    (include "service.share" (dict "metric" "agent_workflow_runs_ended_total" "here" $here "of" "status=\"failed\"" "in" "15m")) $here)
  "summary" "More than one in five runs fails."
  "description" "A node of the agent throws, usually because a service that it calls is unavailable or refuses.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRunsGivenUp" "severity" "warning" "for" "0m"
  "expr" (printf "sum(increase(agent_workflow_runs_given_up_total{%s}[15m])) > 0" $here)
  "summary" "A run was failed because it was claimed too often without a commit: its workers died or released it."
  "description" "Code of the agent that ends or blocks the process does so in every worker that claims such a run.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowTakeovers" "severity" "warning" "for" "15m"
  "expr" (printf "sum(increase(agent_workflow_run_takeovers_total{%s}[15m])) > 10" $here)
  "summary" "Runs are taken over again and again."
  "description" "Workers die, or their leases expire because they renew late. Runs continue, and interrupted steps run again.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowLeaseLost" "severity" "critical" "for" "2m"
  "expr" (printf "agent_workflow_lease_held{%s} == 0 and agent_workflow_ready{%s} == 1" $here $here)
  "summary" (printf "A process of %s cannot renew its lease." $name)
  "description" "Other workers take over its runs. If no worker can renew its lease, runs wait until the queue is available.") }}
{{- end }}
{{- end -}}

{{/* The share of a counter's increments with some labels. Takes `metric`, `here` (the labels of the part), `of` (the further labels) and `in` (a duration). */}}
{{- define "service.share" -}}
sum(rate({{ .metric }}{ {{- .here }}, {{ .of -}} }[{{ .in }}])) / sum(rate({{ .metric }}{ {{- .here -}} }[{{ .in }}]))
{{- end -}}
