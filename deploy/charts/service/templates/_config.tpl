{{/* The variables that a process gets from its chart and from `config`, as one map. Takes a context. */}}
{{- define "service.variables" -}}
{{- $c := . -}}
{{- $set := dict -}}
{{- if not $c.facts.job -}}
{{- $set = dict "METRICS_HOST" $c.global.listenHost "METRICS_PORT" "9464" "DRAIN_SECONDS" ($c.values.drainSeconds | int | toString) -}}
{{- end -}}
{{- if $c.facts.http -}}
{{- $_ := set $set "HOST" $c.global.listenHost -}}
{{- $_ := set $set "PORT" "8000" -}}
{{- else if not $c.facts.job -}}
{{- $_ := set $set "HEALTH_PORT" "50052" -}}
{{- end -}}
{{- if $c.facts.grpc -}}
{{- $_ := set $set "GRPC_HOST" $c.global.listenHost -}}
{{- $_ := set $set "GRPC_PORT" "50051" -}}
{{- end -}}
{{- if $c.facts.agent -}}
{{- $_ := set $set "SERVICE_CONFIG" "/etc/agent-workflow/service.json" -}}
{{- end -}}
{{- range $c.facts.calls -}}
{{- $_ := set $set (printf "%s_ADDRESS" (upper .)) (printf "%s:50051" (include "service.hostOf" (dict "context" $c "service" .))) -}}
{{- end -}}
{{- /* Workers reach files through the gateway: by the secret, or a pool by the grants of its runs. Its Service is taken to listen on port 80; another port is set as FILES_URL in config. */ -}}
{{- if and $c.facts.files (or $c.values.config.FILES_SECRET $c.values.secretEnv.FILES_SECRET $c.values.config.POOL) -}}
{{- $_ := set $set "FILES_URL" (printf "http://%s" (include "service.hostOf" (dict "context" $c "service" $c.facts.files))) -}}
{{- end -}}
{{- if and $c.global.tls.enabled (or $c.facts.grpc $c.facts.calls) -}}
{{- $_ := set $set "TLS_CERT_FILE" "/etc/agent-workflow/tls/tls.crt" -}}
{{- $_ := set $set "TLS_KEY_FILE" "/etc/agent-workflow/tls/tls.key" -}}
{{- $_ := set $set "TLS_CA_FILE" "/etc/agent-workflow/tls/ca.crt" -}}
{{- end -}}
{{- if and $c.global.poolCredentials.existingSecret $c.facts.admitsPools -}}
{{- $_ := set $set "POOL_CREDENTIALS" "/etc/agent-workflow/pools/pools.json" -}}
{{- end -}}
{{- range $name, $value := mustMergeOverwrite (deepCopy $c.values.config) $c.facts.env -}}
{{- /* A whole number comes as a float, whose text may have an exponent. */ -}}
{{- $text := toString $value -}}
{{- if kindIs "float64" $value }}{{ $text = $value | int64 | toString }}{{ end -}}
{{- $_ := set $set $name $text -}}
{{- end -}}
{{- toYaml $set -}}
{{- end -}}

{{/* service.json. */}}
{{- define "service.file" -}}
{{- $file := .global.serviceFile -}}
{{- $auth := ternary nil $file.auth (eq (toString $file.auth) "none") -}}
{{- $authorization := ternary $file.authorization nil (ne (toString $file.authorization) "") -}}
{{- $content := dict "auth" $auth "authorization" $authorization -}}
{{- with $file.access }}{{ $_ := set $content "access" . }}{{ end -}}
{{- if $file.agents -}}
{{- $_ := set $content "agents" $file.agents -}}
{{- with $file.default_agent }}{{ $_ := set $content "default_agent" . }}{{ end -}}
{{- else if eq (toString $file.agent) "none" -}}
{{- $_ := set $content "agent" nil -}}
{{- else -}}
{{- $_ := set $content "agent" ($file.agent | default "/app/services/command/init/template/agent.js:graph") -}}
{{- end -}}
{{- toPrettyJson $content -}}
{{- end -}}

{{/* A hash of the configuration: pods are replaced when it changes. */}}
{{- define "service.checksum" -}}
{{- $file := "" -}}
{{- if .facts.agent }}{{ $file = include "service.file" . }}{{ end -}}
{{- printf "%s%s" (include "service.variables" .) $file | sha256sum -}}
{{- end -}}

{{- define "service.configmap" -}}
{{- $c := include "service.context" . | fromYaml -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
data:
  {{- include "service.variables" $c | fromYaml | toYaml | nindent 2 }}
{{- if $c.facts.agent }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "service.metadata" (dict "context" $c "name" (include "service.fileName" $c)) | nindent 2 }}
data:
  service.json: |
    {{- include "service.file" $c | nindent 4 }}
{{- end }}
{{- end -}}

{{/* `env` of a container: variables from Secrets, and those of `extraEnv`. */}}
{{- define "service.env" -}}
{{- $c := . -}}
{{- $env := list -}}
{{- with $c.global.serviceToken -}}
{{- if and .existingSecret (or $c.facts.grpc $c.facts.calls) -}}
{{- $env = append $env (dict "name" "SERVICE_TOKEN" "valueFrom" (dict "secretKeyRef" (dict "name" .existingSecret "key" .key))) -}}
{{- end -}}
{{- end -}}
{{- with $c.global.poolCredentials -}}
{{- if and .existingSecret (or $c.facts.readsGrants (eq (toString $c.facts.admitsPools) "grants")) -}}
{{- $env = append $env (dict "name" "GRANT_SECRET" "valueFrom" (dict "secretKeyRef" (dict "name" .existingSecret "key" .grantKey))) -}}
{{- end -}}
{{- end -}}
{{- range $name, $from := $c.values.secretEnv -}}
{{- $env = append $env (dict "name" $name "valueFrom" (dict "secretKeyRef" $from)) -}}
{{- end -}}
{{- concat $env $c.values.extraEnv | toYaml -}}
{{- end -}}
