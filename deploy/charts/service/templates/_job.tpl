{{/*
The spec of a Job. Takes `context`, `container` (the name of its container), `run` (what the values
have of the Job), `args`, and `command`, which may be absent.
*/}}
{{- define "service.jobSpec" -}}
{{- $c := .context -}}
backoffLimit: {{ .run.backoffLimit | int }}
activeDeadlineSeconds: {{ .run.activeDeadlineSeconds | int }}
template:
  metadata:
    labels:
      {{- include "service.labels" (dict "context" $c "own" .run.podLabels) | nindent 6 }}
    {{- with .run.podAnnotations }}
    annotations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  spec:
    restartPolicy: Never
    {{- if $c.facts.account }}
    serviceAccountName: {{ include "service.serviceAccountName" $c }}
    {{- end }}
    automountServiceAccountToken: false
    enableServiceLinks: false
    securityContext:
      {{- include "service.podSecurity" $c | nindent 6 }}
    {{- with include "service.pullSecrets" $c }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with include "service.place" $c | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with $c.values.initContainers }}
    initContainers:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    containers:
      - name: {{ .container }}
        image: {{ include "service.image" $c }}
        imagePullPolicy: {{ $c.global.image.pullPolicy }}
        {{- include "service.run" . | trim | nindent 8 }}
        {{- with $c.values.extraEnvFrom }}
        envFrom:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        env:
          {{- range $name, $value := include "service.variables" $c | fromYaml }}
          - name: {{ $name }}
            value: {{ $value | quote }}
          {{- end }}
          {{- with include "service.env" $c | fromYamlArray }}
          {{- toYaml . | nindent 10 }}
          {{- end }}
        resources:
          {{- toYaml .run.resources | nindent 10 }}
        securityContext:
          {{- include "service.containerSecurity" $c | nindent 10 }}
        volumeMounts:
          {{- include "service.mounts" $c | nindent 10 }}
    volumes:
      {{- include "service.volumes" $c | nindent 6 }}
{{- end -}}

{{/*
Migrates the tables before any pod of the version starts. The Job runs before the objects of the release exist, so it has its own
copies of those that it needs.
*/}}
{{- define "service.job" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- $migration := $c.values.migration -}}
{{- if $migration.enabled -}}
{{- $job := mustMergeOverwrite (deepCopy $c) (dict "name" (printf "%s-migrate" $c.name)) -}}
{{- $_ := set $job.facts "component" (printf "%s-migrate" $c.facts.component) -}}
{{- $_ := set $job.facts "grpc" false -}}
{{- $_ := set $job.facts "job" true -}}
{{- /* It is called by nobody. */ -}}
{{- $_ := set $job.facts "admitsPools" "" -}}
{{- if $c.global.networkPolicy.enabled }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "service.metadata" (dict "context" $job "name" $job.name) | nindent 2 }}
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: "-5"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  podSelector:
    matchLabels:
      {{- include "service.selector" $job | nindent 6 }}
  policyTypes:
    - Ingress
    - Egress
  egress:
    {{- include "service.egress" $job | nindent 4 }}
---
{{- end }}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "service.metadata" (dict "context" $job "name" $job.name "own" $migration.labels) | nindent 2 }}
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: "0"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    {{- with $migration.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "service.jobSpec" (dict "context" $job "container" "migrate" "run" $migration "args" (list $job.facts.migrate)) | nindent 2 }}
{{- end -}}
{{- end -}}
