{{/*
What every template of this chart works with: the values of one process, the defaults below them, and what its chart says of it.
Takes a dict: `root`, and `facts`:
  component   how pods and resources are called
  serves      what its Service is called; the component unless told
  section     the part of the values that is this process' alone
  main        what Node runs
  http, grpc  which of the two it serves
  agent       whether it reads service.json
  calls       names of services that it calls, and `calledComponents`, the pods behind them
  callers     components that call it
  data        where its volume is mounted, when it has one
  migrate     what Node runs before a version is installed
  env         variables that are always the same
  needs       settings without which it does not start
  countsRuns  whether KEDA asks its metrics how many runs are under way
  tells       what its metrics are about: requests, redis, calls, record, memories, queue, runs
*/}}
{{- define "service.context" -}}
{{- $root := .root -}}
{{- $facts := .facts -}}
{{- $values := mustMergeOverwrite (deepCopy $root.Values.defaults) (deepCopy (omit $root.Values "defaults" "global")) -}}
{{- with $facts.section -}}
{{- $values = mustMergeOverwrite $values (deepCopy (get $root.Values . | default dict)) -}}
{{- end -}}
{{- $instance := $values.global.instance | default $root.Release.Name -}}
{{- /* A merge passes over null, which has a meaning here. */ -}}
{{- range list $root.Values (get $root.Values ($facts.section | default "") | default dict) -}}
{{- if hasKey . "runAsUser" }}{{ $_ := set $values "runAsUser" .runAsUser }}{{ end -}}
{{- end -}}
{{- dict
      "facts" (mustMergeOverwrite (dict "serves" $facts.component "calls" list "callers" list "env" dict "needs" list "tells" list) $facts)
      "values" $values
      "global" $values.global
      "instance" $instance
      "name" (printf "%s-%s" $instance $facts.component | trunc 63 | trimSuffix "-")
      "namespace" $root.Release.Namespace
      "chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version)
      "version" ($root.Chart.AppVersion | toString)
      "managedBy" $root.Release.Service
    | toYaml -}}
{{- end -}}

{{/* What pods are found by: it never changes in the life of a Deployment. Takes a context. */}}
{{- define "service.selector" -}}
app.kubernetes.io/part-of: agent-workflow
app.kubernetes.io/instance: {{ .instance }}
app.kubernetes.io/component: {{ .facts.component }}
{{- end -}}

{{- define "service.labels" -}}
{{ include "service.selector" . }}
app.kubernetes.io/name: agent-workflow
app.kubernetes.io/version: {{ .version | quote }}
app.kubernetes.io/managed-by: {{ .managedBy }}
helm.sh/chart: {{ .chart }}
{{- end -}}

{{/* `metadata`, for the name that is given. */}}
{{- define "service.metadata" -}}
name: {{ .name }}
namespace: {{ .context.namespace }}
labels:
  {{- include "service.labels" .context | nindent 2 }}
{{- end -}}

{{/* How a service of the same instance is called. Takes `context` and `service`. */}}
{{- define "service.nameOf" -}}
{{ printf "%s-%s" .context.instance .service | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "service.serviceAccountName" -}}
{{- if .values.serviceAccount.create -}}
{{ .values.serviceAccount.name | default .name }}
{{- else -}}
{{ .values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- define "service.tlsSecret" -}}
{{ .values.tls.existingSecret | default (printf "%s-tls" .name) }}
{{- end -}}

{{- define "service.image" -}}
{{- with .global.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.version }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether something else than `replicas` says how many there are. */}}
{{- define "service.scales" -}}
{{- if or .values.autoscaling.enabled (dig "keda" "enabled" false .values) }}true{{ end -}}
{{- end -}}
