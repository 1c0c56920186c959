{{/*
Scales workers by the sum of the runs that wait in JetStream (one consumer per lane) and the runs in progress, which have left the queue.
*/}}
{{- define "service.scaledobject" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- $keda := $c.values.keda -}}
{{- if $keda.enabled -}}
{{- $prefix := get $c.values.config "NATS_PREFIX" | default "" -}}
{{- $stream := ternary "RUNS" (printf "%s_RUNS" (regexReplaceAll "[^A-Za-z0-9_-]" $prefix "_")) (eq $prefix "") -}}
{{- $lanes := list -}}
{{- range until (int $keda.lanes) }}{{ $lanes = append $lanes (printf "lane%d" .) }}{{ end -}}
{{- $terms := $lanes -}}
{{- if $keda.underWayMetric }}{{ $terms = append $lanes "underway" }}{{ end -}}
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
      formula: {{ join " + " $terms | quote }}
      target: {{ $keda.runsPerWorker | int | quote }}
      activationTarget: "0"
      metricType: AverageValue
    {{- with $keda.behavior }}
    horizontalPodAutoscalerConfig:
      behavior:
        {{- toYaml . | nindent 8 }}
    {{- end }}
  triggers:
    {{- range $lane, $name := $lanes }}
    - type: nats-jetstream
      name: {{ $name }}
      metadata:
        natsServerMonitoringEndpoint: {{ $keda.natsMonitoring | quote }}
        account: {{ $keda.natsAccount | quote }}
        stream: {{ $stream | quote }}
        consumer: {{ printf "lane-%d" $lane | quote }}
        lagThreshold: {{ $keda.runsPerWorker | int | quote }}
        activationLagThreshold: "0"
        useHttps: {{ $keda.natsMonitoringHttps | quote }}
    {{- end }}
    {{- with $keda.underWayMetric }}
    # Each replica of the API counts all runs, so whichever answers will do. Its Service names those that are ready, and being
    # headless it leads to all their ports.
    - type: metrics-api
      name: underway
      metadata:
        url: http://{{ include "service.nameOf" (dict "context" $c "service" "execution") }}.{{ $c.namespace }}.svc.{{ $c.global.clusterDomain }}:9464/metrics
        format: prometheus
        valueLocation: {{ . | quote }}
        targetValue: {{ $keda.runsPerWorker | int | quote }}
        activationTargetValue: "0"
    {{- end }}
{{- end -}}
{{- end -}}
