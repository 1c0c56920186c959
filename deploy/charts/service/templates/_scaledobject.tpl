{{/*
Scales workers by the sum of the runs that wait and the runs in progress, which have left the queue. The API counts both.
*/}}
{{- define "service.scaledobject" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- $keda := $c.values.keda -}}
{{- if $keda.enabled -}}
{{- $metrics := $c.facts.scaledBy -}}
{{- if not $metrics -}}
{{- $metrics = dict "waiting" $keda.waitingMetric -}}
{{- if $keda.underWayMetric }}{{ $metrics = set $metrics "underway" $keda.underWayMetric }}{{ end -}}
{{- end -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
spec:
  scaleTargetRef:
    name: {{ $c.name }}
  minReplicaCount: {{ $keda.minReplicas | int }}
  maxReplicaCount: {{ $keda.maxReplicas | int }}
  pollingInterval: {{ $keda.pollingSeconds | int }}
  cooldownPeriod: {{ $keda.cooldownSeconds | int }}
  advanced:
    restoreToOriginalReplicaCount: false
    scalingModifiers:
      formula: {{ keys $metrics | sortAlpha | join " + " | quote }}
      target: {{ $keda.runsPerWorker | int | quote }}
      activationTarget: "0"
      metricType: AverageValue
    {{- with $keda.behavior }}
    horizontalPodAutoscalerConfig:
      behavior:
        {{- toYaml . | nindent 8 }}
    {{- end }}
  triggers:
    # Each replica of the API counts all runs, so whichever answers will do. Its Service names those that are ready, and being
    # headless it leads to all their ports.
    {{- range $name, $metric := $metrics }}
    - type: metrics-api
      name: {{ $name }}
      metadata:
        url: http://{{ include "service.hostOf" (dict "context" $c "service" "execution") }}:9464/metrics
        format: prometheus
        valueLocation: {{ $metric | quote }}
        targetValue: {{ $keda.runsPerWorker | int | quote }}
        activationTargetValue: "0"
    {{- end }}
{{- end -}}
{{- end -}}
