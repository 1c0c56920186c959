{{/*
Registers the current revision of a pool when its workers are there, and routes new runs to it. It uses the ServiceAccount and the
ConfigMap of the release, which exist by then. A rollback runs the Job of the version that it returns to.
*/}}
{{- define "agent.registration" -}}
{{- if and (include "agent.isPool" .) .Values.registration.enabled .Values.revisions -}}
{{- $registration := .Values.registration -}}
{{- $c := include "agent.registrationContext" . | fromYaml -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name "own" $registration.labels) | nindent 2 }}
  annotations:
    helm.sh/hook: post-install,post-upgrade,post-rollback
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    {{- with mustMergeOverwrite (dict "argocd.argoproj.io/hook" "PostSync" "argocd.argoproj.io/hook-delete-policy" "BeforeHookCreation,HookSucceeded") $registration.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "service.jobSpec" (dict "context" $c "container" "register" "run" $registration "command" $c.facts.command
    "args" (list "agents" "register" "--routing" $registration.routing)) | nindent 2 }}
{{- end -}}
{{- end -}}

{{/*
The context of the Job. It needs its token or certificates and the address of threads, which the chart sets: of the variables of
workers it gets the values that are no secrets, and of Secrets those that `registration` names.
*/}}
{{- define "agent.registrationContext" -}}
{{- $revision := include "agent.current" . | fromYaml -}}
{{- $c := include "service.context" (dict "root" . "own" (omit $revision "name" "image" "agents" "command") "facts" (include "agent.registrationFacts" (dict "root" . "revision" $revision) | fromYaml)) | fromYaml -}}
{{- $plain := list -}}
{{- range $c.values.extraEnv }}{{ if not .valueFrom }}{{ $plain = append $plain . }}{{ end }}{{ end -}}
{{- $config := omit $c.values.config "FILES_SECRET" "OPENAI_API_KEY" -}}
{{- range $name, $_ := $config }}{{ if hasPrefix "NATS_" $name }}{{ $config = omit $config $name }}{{ end }}{{ end -}}
{{- $_ := set $c "values" (mustMergeOverwrite (omit $c.values "config" "extraEnv" "extraEnvFrom" "secretEnv") (dict
      "config" $config
      "extraEnv" $plain
      "extraEnvFrom" ($c.values.registration.extraEnvFrom | default list)
      "secretEnv" ($c.values.registration.secretEnv | default dict))) -}}
{{- toYaml $c -}}
{{- end -}}
