{{/*
Alerts on what a part tells of itself, by what it tells of (`tells` of its facts). Each series has the labels that the ServiceMonitor
gives it. Takes a context.
*/}}
{{- define "service.metricAlerts" -}}
{{- $c := . -}}
{{- $name := .name -}}
{{- $here := printf "namespace=%q, service=\"%s-metrics\"" .namespace .name }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowDegraded" "severity" "warning" "for" "5m"
  "expr" (printf "max by (part) (agent_workflow_degraded{%s}) == 1" $here)
  "summary" (printf "A part that %s stands on is away, full or damaged." $name)
  "means" "What does not need it goes on, and the rest is 503 or waits. Pods stay ready: /readyz names the part and the reason.") }}
{{- if has "requests" .facts.tells }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRequestsFail" "severity" "critical" "for" "5m"
  "expr" (printf "%s > 0.05 and sum(increase(agent_workflow_http_requests_total{%s, status=~\"5..\"}[5m])) > 10"
    (include "service.share" (dict "metric" "agent_workflow_http_requests_total" "here" $here "of" "status=~\"5..\"" "in" "5m")) $here)
  "summary" (printf "More than one in twenty requests to %s is answered with 500 or above." $name)
  "means" "Callers see it. 500 are failures of the agent or of the service, 503 and 504 are parts or servers that are away or slow.") }}
{{- end }}
{{- if has "redis" .facts.tells }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRedisAway" "severity" "warning" "for" "5m"
  "expr" (printf "min(agent_workflow_redis_up{%s}) == 0" $here)
  "summary" "A gateway does not reach Redis."
  "means" "Each gateway counts limits by itself; tickets and setting up tools are 503, and by and by so are runs with tools of their owner.") }}
{{- end }}
{{- if has "calls" .facts.tells }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowStrangers" "severity" "warning" "for" "5m"
  "expr" (printf "sum(increase(agent_workflow_strangers_total{%s}[15m])) > 0" $here)
  "summary" (printf "%s refuses calls because it does not know who makes them." $name)
  "means" "A part shows another token than this one takes, and what it asks for fails; or somebody else tries.") }}
{{- end }}
{{- if has "record" .facts.tells }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRecordFails" "severity" "critical" "for" "5m"
  "expr" (printf "%s > 0.05"
    (include "service.share" (dict "metric" "agent_workflow_cassandra_statements_total" "here" $here "of" "outcome=\"failed\"" "in" "5m")))
  "summary" "More than one in twenty statements to Cassandra fails."
  "means" "Nothing is accepted without the record: requests are answered with 503, and runs wait for their next commit.") }}
{{- end }}
{{- if has "memories" .facts.tells }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowMemoriesFail" "severity" "warning" "for" "5m"
  "expr" (printf "%s > 0.1"
    (include "service.share" (dict "metric" "agent_workflow_calls_total" "here" (printf "%s, method=~\"memory[.].+\"" $here)
      "of" "code=~\"Unavailable|Timeout|StorageFailed|Internal\"" "in" "5m")))
  "summary" "More than one in ten calls about memories fails."
  "means" "The store of memories or the embedder is away. Threads and runs that use no memory go on; threads cannot be deleted.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowEmbedderFails" "severity" "warning" "for" "10m"
  "expr" (printf "%s > 0.1"
    (include "service.share" (dict "metric" "agent_workflow_embedder_calls_total" "here" $here "of" "outcome=\"failed\"" "in" "10m")))
  "summary" "More than one in ten requests to the embedder fails."
  "means" "Memories can be neither stored nor searched for as long as it does not give vectors of the dimension that is set.") }}
{{- end }}
{{- if has "queue" .facts.tells }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRunsWait" "severity" "warning" "for" "5m"
  "expr" (printf "max(agent_workflow_runs_oldest_wait_seconds{%s}) > 60" $here)
  "summary" "A run that could be driven has waited for over a minute."
  "means" "There are too few workers for the runs that come, or none takes them.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowSweepLate" "severity" "critical" "for" "5m"
  "expr" (printf "time() - max(agent_workflow_sweep_last_success_timestamp_seconds{%s}) > 300" $here)
  "summary" "Nobody has looked for runs that were left for over five minutes."
  "means" "Runs of workers that died are not taken over, and what is told of runs that wait is old.") }}
{{- end }}
{{- if has "runs" .facts.tells }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRunsFail" "severity" "warning" "for" "15m"
  "expr" (printf "%s > 0.2 and sum(increase(agent_workflow_runs_ended_total{%s, status=\"failed\"}[15m])) > 10"
    (include "service.share" (dict "metric" "agent_workflow_runs_ended_total" "here" $here "of" "status=\"failed\"" "in" "15m")) $here)
  "summary" "More than one in five runs fails."
  "means" "A node of the agent throws, as a rule because what it calls is away or refuses.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowRunsGivenUp" "severity" "warning" "for" "0m"
  "expr" (printf "sum(increase(agent_workflow_runs_given_up_total{%s}[15m])) > 0" $here)
  "summary" "A run was given up: workers died or let go of it, one after the other, before it committed a step."
  "means" "It has failed. Code of the agent that ends or blocks the process does so to every worker that takes such a run.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowTakeovers" "severity" "warning" "for" "15m"
  "expr" (printf "sum(increase(agent_workflow_run_takeovers_total{%s}[15m])) > 10" $here)
  "summary" "Runs change hands again and again."
  "means" "Workers die, or are thought dead because they renew their leases late. Runs go on, and steps that were cut run again.") }}
{{ include "service.alert" (dict "context" $c "alert" "AgentWorkflowLeaseLost" "severity" "critical" "for" "2m"
  "expr" (printf "agent_workflow_lease_held{%s} == 0 and agent_workflow_ready{%s} == 1" $here $here)
  "summary" (printf "A process of %s cannot renew its lease." $name)
  "means" "Others take its runs over. When it goes for all of them, runs stand still until the queue is back.") }}
{{- end }}
{{- end -}}

{{/* Which share of a counter's events is of one kind. Takes `metric`, `here` (where it is told), `of` (the kind) and `in` (a time). */}}
{{- define "service.share" -}}
sum(rate({{ .metric }}{ {{- .here }}, {{ .of -}} }[{{ .in }}])) / sum(rate({{ .metric }}{ {{- .here -}} }[{{ .in }}]))
{{- end -}}
