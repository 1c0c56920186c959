{{/* Checks of a pool that a schema cannot express. Fails with every problem, one per line. */}}
{{- define "agent.checks" -}}
{{- $values := .Values -}}
{{- $problems := list -}}
{{- if not $values.defaults.global.instance -}}
{{- $problems = append $problems "global.instance must be that of the service" -}}
{{- end -}}
{{- if gt (len .Release.Name) 40 -}}
{{- $problems = append $problems "the name of a pool has at most 40 characters" -}}
{{- end -}}
{{- with $values.global -}}
{{- if and (eq $.Chart.Name "agent") (or (dig "serviceFile" "agent" "" .) (dig "serviceFile" "agents" "" .)) -}}
{{- $problems = append $problems "the agents of a pool are below agents, not below global.serviceFile" -}}
{{- end -}}
{{- end -}}
{{- if not $values.revisions -}}
{{- $problems = append $problems "revisions must name a build of the agents" -}}
{{- end -}}
{{- $names := list -}}
{{- range $values.revisions -}}
{{- if has .name $names -}}
{{- $problems = append $problems (printf "revisions has %s twice" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- if not (.agents | default $values.agents) -}}
{{- $problems = append $problems (printf "revision %s has no agents: agents must name one" .name) -}}
{{- end -}}
{{- $image := .image | default dict -}}
{{- if not (or $image.tag $image.digest (regexMatch "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$" .name)) -}}
{{- $problems = append $problems (printf "revision %s cannot be the tag of an image: image.tag or image.digest must name its image" .name) -}}
{{- end -}}
{{- end -}}
{{- if and $values.current (not (has $values.current $names)) -}}
{{- $problems = append $problems (printf "current is %s, which revisions does not have" $values.current) -}}
{{- end -}}
{{- if $problems -}}
{{- $where := printf "\n%s: " .Release.Name -}}
{{- fail (printf "%s%s" $where (join $where $problems)) -}}
{{- end -}}
{{- end -}}
