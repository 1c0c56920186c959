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
{{- if and (dig "serviceToken" "existingSecret" "" $pool) (not (dig "config" "POOL" "" $pool)) -}}
{{- fail (printf "\nagents: %s has a serviceToken of its own: its config.POOL must say by which name global.poolCredentials knows it" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
