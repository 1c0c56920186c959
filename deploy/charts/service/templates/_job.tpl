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
  {{- include "service.metadata" (dict "context" $job "name" $job.name) | nindent 2 }}
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: "0"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: {{ $migration.backoffLimit | int }}
  activeDeadlineSeconds: {{ $migration.activeDeadlineSeconds | int }}
  template:
    metadata:
      labels:
        {{- include "service.labels" $job | nindent 8 }}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        {{- include "service.podSecurity" $job | nindent 8 }}
      {{- with include "service.pullSecrets" $job }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with include "service.place" $job | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with $job.values.initContainers }}
      initContainers:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: migrate
          image: {{ include "service.image" $job }}
          imagePullPolicy: {{ $job.global.image.pullPolicy }}
          args:
            - {{ $job.facts.migrate }}
          {{- with $job.values.extraEnvFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          env:
            {{- range $name, $value := include "service.variables" $job | fromYaml }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
            {{- range $name, $from := $job.values.secretEnv }}
            - name: {{ $name }}
              valueFrom:
                secretKeyRef:
                  {{- toYaml $from | nindent 18 }}
            {{- end }}
            {{- with $job.values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          resources:
            {{- toYaml $migration.resources | nindent 12 }}
          securityContext:
            {{- include "service.containerSecurity" $job | nindent 12 }}
          volumeMounts:
            - name: tmp
              mountPath: /tmp
            {{- with $job.values.volumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir:
            sizeLimit: 128Mi
        {{- with $job.values.volumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}
{{- end -}}
