{{/*
The context of every template of this chart: the values of one process with their defaults, and the facts of its chart.
Takes a dict: `root`, `own` (values that take precedence over those of the root; absent: none), and `facts`:
  component   the name of pods and resources
  serves      the name of its Service; the component when absent
  section     the values of this process alone
  where       how problems of its values are introduced; component and section when absent
  main        the file that Node runs
  command     the command and its `args`, in place of `main`
  http, grpc  the protocols that it serves
  agent       whether it reads service.json
  calls       names of services that it calls, and `calledComponents`, the pods behind them
  callers     components that call it
  admitsPools `grants` when pools may call it for their runs, `calls` when it only tells them from the platform
  readsGrants whether workers of pools show it the grants of their runs, beside such calls
  data        where its volume is mounted, when it has one
  migrate     the file that Node runs before a version is installed
  env         constant variables
  needs       settings without which it does not start
  reaches     ports that it may reach on any host, beside those of its values
  countsRuns  whether KEDA reads the number of runs in progress from its metrics
  reports     the subjects of its metrics: requests, redis, calls, record, memories, queue, runs
Of a pool of workers:
  name        the name of its resources, in place of one that is made of the instance and the component
  pool        the name of the pool, and `revisionId`, that of the revision in labels
  account     the name of its ServiceAccount, `certificate`, that of its Secret of certificates, and `file`, that of the ConfigMap with
              its service.json; all are made of its own name when absent
  image       its image, and `serviceFile`, the content of its service.json, in place of those of all parts
  scaledBy    the metrics by which KEDA scales it, by the names of its triggers
*/}}
{{- define "service.context" -}}
{{- $root := .root -}}
{{- $facts := .facts -}}
{{- $values := mustMergeOverwrite (deepCopy $root.Values.defaults) (deepCopy (omit $root.Values "defaults" "global")) -}}
{{- $own := .own | default dict -}}
{{- with $facts.section -}}
{{- $own = get $root.Values . | default dict -}}
{{- end -}}
{{- $values = mustMergeOverwrite $values (deepCopy $own) -}}
{{- with $facts.image }}{{ $_ := set $values.global "image" . }}{{ end -}}
{{- with $facts.serviceFile }}{{ $_ := set $values.global "serviceFile" . }}{{ end -}}
{{- $instance := $values.global.instance | default $root.Release.Name -}}
{{- /* A merge skips null, which has a meaning here. */ -}}
{{- range list $root.Values $own -}}
{{- if hasKey . "runAsUser" }}{{ $_ := set $values "runAsUser" .runAsUser }}{{ end -}}
{{- end -}}
{{- dict
      "facts" (mustMergeOverwrite (dict "serves" $facts.component "calls" list "callers" list "env" dict "needs" list "reports" list) $facts)
      "values" $values
      "global" $values.global
      "instance" $instance
      "name" ($facts.name | default (printf "%s-%s" $instance $facts.component | trunc 63 | trimSuffix "-"))
      "namespace" $root.Release.Namespace
      "platform" (dig "platform" "namespace" "" $values | default $root.Release.Namespace)
      "chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version)
      "version" ($root.Chart.AppVersion | toString)
      "managedBy" $root.Release.Service
    | toYaml -}}
{{- end -}}

{{/* The labels that select pods: immutable in a Deployment. Takes a context. */}}
{{- define "service.selector" -}}
app.kubernetes.io/part-of: agent-workflow
app.kubernetes.io/instance: {{ .instance }}
app.kubernetes.io/component: {{ .facts.component }}
{{- with .facts.pool }}
agent-workflow/pool: {{ . }}
{{- end }}
{{- with .facts.revisionId }}
agent-workflow/revision: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "service.ownLabels" -}}
{{ include "service.selector" . }}
app.kubernetes.io/name: agent-workflow
app.kubernetes.io/version: {{ .version | quote }}
app.kubernetes.io/managed-by: {{ .managedBy }}
helm.sh/chart: {{ .chart }}
{{- end -}}

{{/* The labels of an object: those of the chart, those of all objects, and its own. Takes `context`, and `own`, which may be absent. */}}
{{- define "service.labels" -}}
{{ include "service.ownLabels" .context }}
{{- with mustMergeOverwrite (deepCopy .context.global.commonLabels) .context.values.commonLabels (.own | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The families of the addresses of a Service. Takes a context. */}}
{{- define "service.ipFamilies" -}}
{{- with .global.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .global.ipFamilies }}
ipFamilies:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* `metadata` for a name. Takes `context`, `name`, and `own`, labels of this object alone, which may be absent. */}}
{{- define "service.metadata" -}}
name: {{ .name }}
namespace: {{ .context.namespace }}
labels:
  {{- include "service.labels" . | nindent 2 }}
{{- end -}}

{{/* The name of a service of the same instance. Takes `context` and `service`. */}}
{{- define "service.nameOf" -}}
{{ printf "%s-%s" .context.instance .service | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* The host of a service of the same instance, which may be in another namespace than a pool. Takes `context` and `service`. */}}
{{- define "service.hostOf" -}}
{{ include "service.nameOf" . }}.{{ .context.platform }}.svc.{{ .context.global.clusterDomain }}
{{- end -}}

{{- define "service.serviceAccountName" -}}
{{- if .values.serviceAccount.create -}}
{{ .values.serviceAccount.name | default .facts.account | default .name }}
{{- else -}}
{{ .values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- define "service.tlsSecret" -}}
{{ .values.tls.existingSecret | default .facts.certificate | default (printf "%s-tls" .name) }}
{{- end -}}

{{/* The ConfigMap with service.json. */}}
{{- define "service.fileName" -}}
{{ .facts.file | default (printf "%s-file" .name) }}
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

{{/* Whether an autoscaler sets the number of replicas. */}}
{{- define "service.scales" -}}
{{- if or .values.autoscaling.enabled (dig "keda" "enabled" false .values) }}true{{ end -}}
{{- end -}}
