{{/* Whether there is a pool. The umbrella chart holds this chart without one, for its templates and values. */}}
{{- define "agent.isPool" -}}
{{- if or .Values.agents .Values.revisions .Chart.IsRoot }}true{{ end -}}
{{- end -}}

{{/* The start of the names of the pool's resources. */}}
{{- define "agent.name" -}}
{{ printf "%s-agent" .Release.Name }}
{{- end -}}

{{/* A revision in names and labels, which take less than a revision may hold. */}}
{{- define "agent.revisionId" -}}
{{ . | sha256sum | trunc 6 }}
{{- end -}}

{{/* The name of the resources of a revision, with room for `-metrics` after it. Takes `root` and `revision`. */}}
{{- define "agent.revisionName" -}}
{{- $name := include "agent.name" .root -}}
{{- $room := max 0 (sub 47 (len $name)) | int -}}
{{- $readable := regexReplaceAll "[^a-z0-9]+" (lower .revision.name) "-" | trunc $room | trimAll "-" -}}
{{ without (list $name $readable (include "agent.revisionId" .revision.name)) "" | join "-" }}
{{- end -}}

{{/* The revision that is to be current. */}}
{{- define "agent.current" -}}
{{- $found := last .Values.revisions -}}
{{- range .Values.revisions }}{{ if eq .name $.Values.current }}{{ $found = . }}{{ end }}{{ end -}}
{{- toYaml $found -}}
{{- end -}}

{{/* The facts of what a pool shares. */}}
{{- define "agent.facts" -}}
{{- $name := include "agent.name" . -}}
component: agent
name: {{ $name }}
pool: {{ .Release.Name }}
account: {{ $name }}
certificate: {{ $name }}-tls
{{- end -}}

{{/* The facts of everything that runs a revision. Takes `root` and `revision`. */}}
{{- define "agent.runFacts" -}}
{{- $revision := .revision -}}
{{- $values := .root.Values -}}
{{- $own := $revision.image | default dict -}}
{{- $shared := $values.defaults.global.image -}}
{{- $image := dict
      "repository" ($own.repository | default $values.image.repository | default $shared.repository)
      "tag" ($own.tag | default $revision.name)
      "digest" ($own.digest | default "")
      "pullPolicy" $shared.pullPolicy
      "pullSecrets" $shared.pullSecrets -}}
{{- mustMergeOverwrite (include "agent.facts" .root | fromYaml) (dict
      "where" (printf "%s, revision %s" .root.Release.Name $revision.name)
      "file" (printf "%s-file" (include "agent.revisionName" .))
      "image" $image
      "agent" true
      "serviceFile" (dict "agents" ($revision.agents | default $values.agents) "auth" "none" "authorization" "")
      "command" ($revision.command | default $values.command))
    | toYaml -}}
{{- end -}}

{{/* The facts of the workers of a revision. Takes `root` and `revision`. */}}
{{- define "agent.workerFacts" -}}
{{- $revision := .revision -}}
{{- $scaledBy := dict -}}
{{- range $agent, $_ := $revision.agents | default .root.Values.agents -}}
{{- /* A formula reads a hyphen as a minus. */ -}}
{{- $_ := set $scaledBy (printf "agent_%s" ($agent | replace "-" "_")) (printf "agent_workflow_revision_runs{agent=%q,revision=%q}" $agent $revision.name) -}}
{{- end -}}
{{- mustMergeOverwrite (include "agent.runFacts" . | fromYaml) (dict
      "name" (include "agent.revisionName" .)
      "revisionId" (include "agent.revisionId" $revision.name)
      "args" (list "worker")
      "env" (dict "ROLE" "worker" "AGENT_REVISION" $revision.name)
      "calls" (list "threads" "memory")
      "calledComponents" (list "threads" "memory")
      "files" "gateway"
      "needs" (list "NATS_URL")
      "reports" (list "runs")
      "scaledBy" $scaledBy)
    | toYaml -}}
{{- end -}}

{{/* The facts of the Job that registers a revision. Takes `root` and `revision`. */}}
{{- define "agent.registrationFacts" -}}
{{- mustMergeOverwrite (include "agent.runFacts" . | fromYaml) (dict
      "component" "agent-register"
      "name" (printf "%s-register" (include "agent.name" .root))
      "job" true
      "env" (dict "AGENT_REVISION" .revision.name)
      "calls" (list "threads")
      "calledComponents" (list "threads"))
    | toYaml -}}
{{- end -}}

{{/* A template of the library for each revision of the pool. Takes `root` and `template`. */}}
{{- define "agent.revisions" -}}
{{- $root := .root -}}
{{- $template := .template -}}
{{- if include "agent.isPool" $root -}}
{{- range $root.Values.revisions }}
---
{{ include $template (dict "root" $root "own" (omit . "name" "image" "agents" "command") "facts" (include "agent.workerFacts" (dict "root" $root "revision" .) | fromYaml)) }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* A template of the library for the pool. Takes `root` and `template`. */}}
{{- define "agent.shared" -}}
{{- if include "agent.isPool" .root -}}
{{- include .template (dict "root" .root "facts" (include "agent.facts" .root | fromYaml)) -}}
{{- end -}}
{{- end -}}
