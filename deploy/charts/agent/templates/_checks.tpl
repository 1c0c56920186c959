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
{{- range $problem := include "agent.secretProblems" . | fromYamlArray -}}
{{- $problems = append $problems $problem -}}
{{- end -}}
{{- if and $values.current (not (has $values.current $names)) -}}
{{- $problems = append $problems (printf "current is %s, which revisions does not have" $values.current) -}}
{{- end -}}
{{- if $problems -}}
{{- $where := printf "\n%s: " .Release.Name -}}
{{- fail (printf "%s%s" $where (join $where $problems)) -}}
{{- end -}}
{{- end -}}

{{/*
What a pool may not be given, since its code reads every variable of its pods: secrets of the platform. As a list in YAML. FILES_SECRET
opens the files of every owner, and is for workers with the token of the platform, which opens everything.
*/}}
{{- define "agent.secretProblems" -}}
{{- $values := omit .Values "global" -}}
{{- $problems := list -}}
{{- $ofPlatform := splitList " " "CASSANDRA_PASSWORD EMBEDDINGS_API_KEY FILES_S3_ACCESS_KEY_ID FILES_S3_SECRET_ACCESS_KEY GRANT_SECRET JWT_SECRET_KEY POOL_CREDENTIALS POSTGRES_PASSWORD REDIS_URL SERVICE_TOKEN WEAVIATE_API_KEY" -}}
{{- $credentials := $values.defaults.global.poolCredentials.existingSecret -}}
{{- range $place := concat (list $values) $values.revisions -}}
{{- $where := "" -}}
{{- with $place.name }}{{ $where = printf "revision %s: " . }}{{ end -}}
{{- $isPool := or (dig "config" "POOL" "" $place) (dig "config" "POOL" "" $values) -}}
{{- $given := dict
      "config" (keys ($place.config | default dict))
      "secretEnv" (keys ($place.secretEnv | default dict))
      "registration.secretEnv" (keys (dig "registration" "secretEnv" dict $place))
      "extraEnv" list -}}
{{- range $place.extraEnv }}{{ $_ := set $given "extraEnv" (append $given.extraEnv .name) }}{{ end -}}
{{- range $in, $names := $given -}}
{{- range $names | sortAlpha -}}
{{- if has . $ofPlatform -}}
{{- $problems = append $problems (printf "%s%s.%s is a secret of the platform, and the code of the pool could read it: a secret of the team takes another name" $where $in .) -}}
{{- else if and (eq . "FILES_SECRET") $isPool -}}
{{- $problems = append $problems (printf "%s%s.FILES_SECRET opens the files of every owner: with config.POOL the grants of its runs open what it needs" $where $in) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range include "agent.secretNames" $place | fromYamlArray -}}
{{- if and $credentials (eq . $credentials) -}}
{{- $problems = append $problems (printf "%sthe Secret %s is that of global.poolCredentials, which no pool may read" $where .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{/* The names of all Secrets that values of a pool, or of a revision, bring into its pods. As a list in YAML. */}}
{{- define "agent.secretNames" -}}
{{- $names := list -}}
{{- $registration := .registration | default dict -}}
{{- range concat (values (.secretEnv | default dict)) (values ($registration.secretEnv | default dict)) }}{{ $names = append $names .name }}{{ end -}}
{{- range .extraEnv }}{{ $names = append $names (dig "valueFrom" "secretKeyRef" "name" "" .) }}{{ end -}}
{{- range concat (.extraEnvFrom | default list) ($registration.extraEnvFrom | default list) }}{{ $names = append $names (dig "secretRef" "name" "" .) }}{{ end -}}
{{- range .volumes -}}
{{- $names = append $names (dig "secret" "secretName" "" .) -}}
{{- range dig "projected" "sources" list . }}{{ $names = append $names (dig "secret" "name" "" .) }}{{ end -}}
{{- end -}}
{{- without ($names | uniq) "" | toYaml -}}
{{- end -}}
