{{- define "service.deployment" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- include "service.checks" $c -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
spec:
  {{- if not (include "service.scales" $c) }}
  replicas: {{ $c.values.replicas | int }}
  {{- end }}
  revisionHistoryLimit: 5
  strategy:
    {{- if $c.facts.data }}
    # Two processes never share a data folder.
    type: Recreate
    {{- else }}
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
    {{- end }}
  selector:
    matchLabels:
      {{- include "service.selector" $c | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "service.labels" (dict "context" $c "own" $c.values.podLabels) | nindent 8 }}
      annotations:
        checksum/config: {{ include "service.checksum" $c }}
        {{- with $c.values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "service.serviceAccountName" $c }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ include "service.graceSeconds" $c }}
      securityContext:
        {{- include "service.podSecurity" $c | nindent 8 }}
      {{- with include "service.pullSecrets" $c }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with include "service.place" $c | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with include "service.spread" $c | trim }}
      topologySpreadConstraints:
        {{- . | nindent 8 }}
      {{- end }}
      {{- with $c.values.initContainers }}
      initContainers:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - {{ include "service.container" $c | nindent 10 | trim }}
        {{- with $c.values.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "service.volumes" $c | nindent 8 }}
{{- end -}}
