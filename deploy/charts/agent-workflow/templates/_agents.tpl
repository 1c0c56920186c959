{{/*
The root of the chart `agent` for a pool of `agents`: the values of `agent`, with those of the pool over them, and the instance of this
release and a token of the pool's own. Takes `root`, `name` and `pool`; as YAML.
*/}}
{{- define "agent-workflow.poolRoot" -}}
{{- $shared := .root.Values.agent -}}
{{- $instance := .root.Values.global.instance | default .root.Release.Name -}}
{{- $values := mustMergeOverwrite (deepCopy $shared) (deepCopy .pool) -}}
{{- /* A merge skips null, which has a meaning here. */ -}}
{{- range list $shared .pool }}{{ if hasKey . "runAsUser" }}{{ $_ := set $values "runAsUser" .runAsUser }}{{ end }}{{ end -}}
{{- $_ := set $values.defaults.global "instance" $instance -}}
{{- with .pool.serviceToken }}{{ $_ := set $values.defaults.global "serviceToken" (mustMergeOverwrite $values.defaults.global.serviceToken (deepCopy .)) }}{{ end -}}
{{- dict
      "Values" $values
      "Release" (dict "Name" (printf "%s-%s" $instance .name) "Namespace" .root.Release.Namespace "Service" .root.Release.Service)
      "Chart" (dict "Name" .root.Chart.Name "Version" .root.Chart.Version "AppVersion" .root.Chart.AppVersion "IsRoot" true)
    | toYaml -}}
{{- end -}}

{{/* Fails when two pools have one agent: each would take the new runs of the other. */}}
{{- define "agent-workflow.poolChecks" -}}
{{- $holders := dict -}}
{{- range $name, $pool := .Values.agents -}}
{{- $agents := keys ($pool.agents | default dict) -}}
{{- range $pool.revisions }}{{ $agents = concat $agents (keys (.agents | default dict)) }}{{ end -}}
{{- range $agents | uniq -}}
{{- if hasKey $holders . -}}
{{- fail (printf "\nagents: %s and %s both have the agent %s" (get $holders .) $name .) -}}
{{- end -}}
{{- $_ := set $holders . $name -}}
{{- end -}}
{{- $own := dig "serviceToken" "existingSecret" "" $pool -}}
{{- $isPool := or (dig "config" "POOL" "" $pool) (dig "config" "POOL" "" $.Values.agent) -}}
{{- $ofPlatform := $.Values.global.serviceToken.existingSecret -}}
{{- if and $isPool $ofPlatform (or (not $own) (and (eq $own $ofPlatform) (eq (dig "serviceToken" "key" "token" $pool) ($.Values.global.serviceToken.key | default "token")))) -}}
{{- fail (printf "\nagents: %s has config.POOL and the token of the platform, which opens everything: its serviceToken.existingSecret must name a Secret of its own" $name) -}}
{{- end -}}
{{- if $isPool -}}
{{- include "agent-workflow.sharedSecrets" (dict "root" $ "name" $name "pool" $pool) -}}
{{- end -}}
{{- if and $own (not $isPool) -}}
{{- fail (printf "\nagents: %s has a serviceToken of its own: its config.POOL must say by which name global.poolCredentials knows it" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Fails when a pool with a token of its own is given a value of a Secret that a part of the service is given, as the NATS user of the
service. Takes `root`, `name` and `pool`.
*/}}
{{- define "agent-workflow.sharedSecrets" -}}
{{- $places := list .pool (.root.Values.agent | default dict) -}}
{{- range .pool.revisions }}{{ $places = append $places . }}{{ end -}}
{{- $mine := dict -}}
{{- range $places }}{{ range $variable, $from := .secretEnv }}{{ $_ := set $mine (printf "%s/%s" $from.name $from.key) $variable }}{{ end }}{{ end -}}
{{- $parts := dict -}}
{{- range $part := list "gateway" "threads" "execution" "memory" -}}
{{- $values := get $.root.Values $part | default dict -}}
{{- range list $values ($values.api | default dict) ($values.worker | default dict) -}}
{{- range .secretEnv }}{{ $_ := set $parts (printf "%s/%s" .name .key) $part }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $secret, $variable := $mine -}}
{{- with get $parts $secret -}}
{{- fail (printf "\nagents: %s has a token of its own, but its secretEnv.%s is a secret of %s: it must be one of its own" $.name $variable .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
