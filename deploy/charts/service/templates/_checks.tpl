{{/*
Checks that a schema cannot express, as settings that depend on each other. Fails with every problem, one per line.
*/}}
{{- define "service.checks" -}}
{{- $c := . -}}
{{- $where := $c.facts.where | default (without (list $c.facts.component $c.facts.section) nil "" | join ", ") -}}
{{- $problems := list -}}
{{- $extra := list -}}
{{- range $c.values.extraEnv }}{{ $extra = append $extra .name }}{{ end -}}
{{- $places := dict "config" (keys $c.values.config) "secretEnv" (keys $c.values.secretEnv) "extraEnv" $extra -}}
{{- $given := concat (keys $c.values.config) (keys $c.values.secretEnv) $extra -}}
{{- /* The variables of extraEnvFrom are unknown until the process starts. */ -}}
{{- $known := not $c.values.extraEnvFrom -}}
{{- range $c.facts.needs -}}
{{- if and $known (not (has . $given)) -}}
{{- $problems = append $problems (printf "%s must be set, in config or secretEnv" .) -}}
{{- end -}}
{{- end -}}
{{- $own := keys (include "service.variables" $c | fromYaml) -}}
{{- if $c.global.serviceToken.existingSecret }}{{ $own = append $own "SERVICE_TOKEN" }}{{ end -}}
{{- if $c.global.poolCredentials.existingSecret -}}
{{- if or $c.facts.readsGrants (eq (toString $c.facts.admitsPools) "grants") }}{{ $own = append $own "GRANT_SECRET" }}{{ end -}}
{{- if and $c.facts.admitsPools (not $c.global.serviceToken.existingSecret) -}}
{{- $problems = append $problems "global.serviceToken.existingSecret must be set where global.poolCredentials is: without it every caller is of the platform" -}}
{{- end -}}
{{- end -}}
{{- range $name := $given | uniq | sortAlpha -}}
{{- $in := list -}}
{{- range $place, $names := $places }}{{ if has $name $names }}{{ $in = append $in $place }}{{ end }}{{ end -}}
{{- if gt (len $in) 1 -}}
{{- $problems = append $problems (printf "%s is set in %s" $name (join " and in " $in)) -}}
{{- else if and (has $name $own) (ne (first $in) "config") -}}
{{- $problems = append $problems (printf "%s is set by the chart: it must not be in %s" $name (first $in)) -}}
{{- end -}}
{{- end -}}
{{- $inCluster := or $c.facts.grpc $c.facts.calls -}}
{{- if and $inCluster (not $c.global.tls.enabled) (not $c.global.serviceToken.existingSecret) -}}
{{- $problems = append $problems "global.serviceToken.existingSecret must be set, or global.tls.enabled: otherwise the services accept every caller" -}}
{{- end -}}
{{- with $c.global.tls -}}
{{- if and .certManager.enabled (not .enabled) -}}
{{- $problems = append $problems "global.tls.certManager.enabled creates certificates that are not used: set global.tls.enabled" -}}
{{- end -}}
{{- if and .certManager.enabled (not .certManager.issuerRef.name) -}}
{{- $problems = append $problems "global.tls.certManager.issuerRef.name must be set" -}}
{{- end -}}
{{- end -}}
{{- if and $c.facts.http (eq (toString $c.global.serviceFile.auth) "jwt") -}}
{{- $keys := list "JWT_SECRET_KEY" "JWT_PUBLIC_KEY" "JWT_JWKS_URL" "JWT_ISSUERS" "API_KEYS" -}}
{{- $found := list -}}
{{- range $keys }}{{ if has . $given }}{{ $found = append $found . }}{{ end }}{{ end -}}
{{- if and $known (not $found) -}}
{{- $problems = append $problems "global.serviceFile.auth is jwt: one of JWT_SECRET_KEY, JWT_PUBLIC_KEY, JWT_JWKS_URL, JWT_ISSUERS, API_KEYS must be set, in config or secretEnv" -}}
{{- end -}}
{{- end -}}
{{- with $c.global.serviceFile -}}
{{- if and .default_agent (not (hasKey (.agents | default dict) .default_agent)) -}}
{{- $problems = append $problems (printf "global.serviceFile.default_agent is %q, which global.serviceFile.agents does not have" .default_agent) -}}
{{- end -}}
{{- end -}}
{{- $several := or (gt (int $c.values.replicas) 1) $c.values.autoscaling.enabled -}}
{{- if and $known $c.facts.http $c.facts.calls $several (not (has "REDIS_URL" $given)) -}}
{{- $problems = append $problems "REDIS_URL must be set, in config or secretEnv, when there may be more than one replica: each would have its own limits, tools and tickets" -}}
{{- end -}}
{{- if and $c.facts.http $c.facts.calls (or (has "FILES_S3_BUCKET" $given) (has "FILES_FOLDER" $given)) -}}
{{- if and $known (not (has "FILES_SECRET" $given)) -}}
{{- $problems = append $problems "FILES_SECRET must be set, in config or secretEnv, where files are stored: replicas and workers share it" -}}
{{- end -}}
{{- if and (has "FILES_FOLDER" $given) $several (not $c.values.volumes) -}}
{{- $problems = append $problems "FILES_FOLDER needs a volume that all replicas share, in volumes and volumeMounts: otherwise each would have its own files. FILES_S3_BUCKET needs none" -}}
{{- end -}}
{{- end -}}
{{- if and $c.facts.http (has "FILES_S3_BUCKET" $given) (has "FILES_FOLDER" $given) -}}
{{- $problems = append $problems "FILES_S3_BUCKET and FILES_FOLDER are both set: files are in one of them" -}}
{{- end -}}
{{- if and $known $c.facts.http (ne (has "FILES_S3_ACCESS_KEY_ID" $given) (has "FILES_S3_SECRET_ACCESS_KEY" $given)) -}}
{{- $problems = append $problems "FILES_S3_ACCESS_KEY_ID and FILES_S3_SECRET_ACCESS_KEY are set together or not at all" -}}
{{- end -}}
{{- /* The default is that of the memory service. A server of one's own, which is at another address, may need no key. */ -}}
{{- $openai := "https://api.openai.com/v1" -}}
{{- $embeddings := get $c.values.config "EMBEDDINGS_BASE_URL" | default (has "EMBEDDINGS_BASE_URL" $given | ternary "elsewhere" $openai) -}}
{{- if and $known (eq (get $c.values.config "EMBEDDINGS_PROVIDER" | toString) "openai") (eq $embeddings $openai) (not (has "EMBEDDINGS_API_KEY" $given)) -}}
{{- $problems = append $problems (printf "EMBEDDINGS_API_KEY must be set, in config or secretEnv, because EMBEDDINGS_PROVIDER is openai and EMBEDDINGS_BASE_URL is %s" $openai) -}}
{{- end -}}
{{- $origins := get $c.values.config "CORS_ORIGINS" | toString | nospace | splitList "," -}}
{{- if and $c.facts.http (has "*" $origins) (eq (get $c.values.config "CORS_CREDENTIALS" | toString) "true") -}}
{{- $problems = append $problems "CORS_CREDENTIALS must be false while CORS_ORIGINS is *" -}}
{{- end -}}
{{- /* The defaults are those of the gateway. A value from elsewhere than config is unknown until the process starts. */ -}}
{{- $files := merge (dict) (pick $c.values.config "FILES_MAX_MB" "FILES_QUOTA_MB") (dict "FILES_MAX_MB" 100 "FILES_QUOTA_MB" 1024) -}}
{{- $elsewhere := concat (keys $c.values.secretEnv) $extra -}}
{{- if and $known $c.facts.http (not (has "FILES_MAX_MB" $elsewhere)) (not (has "FILES_QUOTA_MB" $elsewhere)) -}}
{{- if gt (int $files.FILES_MAX_MB) (int $files.FILES_QUOTA_MB) -}}
{{- $problems = append $problems (printf "FILES_QUOTA_MB (%d) is less than FILES_MAX_MB (%d): no file of that size could be stored" (int $files.FILES_QUOTA_MB) (int $files.FILES_MAX_MB)) -}}
{{- end -}}
{{- end -}}
{{- $limit := $c.values.resources.limits.memory -}}
{{- $budget := get $c.values.config "MEMORY_BUDGET_MB" | int -}}
{{- if gt (float64 $budget) (include "service.mebibytes" $limit | float64) -}}
{{- $problems = append $problems (printf "MEMORY_BUDGET_MB (%d) is more than resources.limits.memory (%v): the container would be ended before the process has used it" $budget $limit) -}}
{{- end -}}
{{- with $c.values.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- $problems = append $problems (printf "autoscaling.minReplicas (%d) is more than maxReplicas (%d)" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- with $c.values.keda -}}
{{- if .enabled -}}
{{- if $c.values.autoscaling.enabled -}}
{{- $problems = append $problems "keda.enabled and autoscaling.enabled both scale the same pods: choose one" -}}
{{- end -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- $problems = append $problems (printf "keda.minReplicas (%d) is more than maxReplicas (%d)" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $c.values.ingress -}}
{{- if and .enabled (not .hosts) -}}
{{- $problems = append $problems "ingress.hosts must name a host" -}}
{{- end -}}
{{- end -}}
{{- with $c.values.httpRoute -}}
{{- if and .enabled (not .parentRefs) -}}
{{- $problems = append $problems "httpRoute.parentRefs must name a Gateway" -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n%s: %s" $where (join (printf "\n%s: " $where) $problems)) -}}
{{- end -}}
{{- end -}}

{{/*
An amount of memory, as Kubernetes writes it, in MiB.
*/}}
{{- define "service.mebibytes" -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "Ki" 1024 "M" 1e6 "Mi" 1048576 "G" 1e9 "Gi" 1073741824 "T" 1e12 "Ti" 1099511627776 -}}
{{- $amount := toString . -}}
{{- $unit := regexFind "[A-Za-z]*$" $amount -}}
{{- divf (mulf (trimSuffix $unit $amount | float64) (get $units $unit)) 1048576 -}}
{{- end -}}
