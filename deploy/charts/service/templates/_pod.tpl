{{- define "service.podSecurity" -}}
runAsNonRoot: true
{{- with .values.runAsUser }}
runAsUser: {{ . | int }}
runAsGroup: {{ . | int }}
fsGroup: {{ . | int }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "service.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop:
    - ALL
{{- end -}}

{{/* terminationGracePeriodSeconds: removal from the Services, then the drain, then ten seconds. */}}
{{- define "service.graceSeconds" -}}
{{ add (int .values.preStopSeconds) (int .values.drainSeconds) 10 }}
{{- end -}}

{{/*
One probe. The kubelet has no certificate, so a gRPC service is probed at a port that serves only its health.
Takes `context`, `path` (of HTTP) and `service` (of gRPC).
*/}}
{{- define "service.probe" -}}
{{- if .context.facts.http -}}
httpGet:
  path: {{ .path }}
  port: http
{{- else -}}
grpc:
  port: 50052
  {{- with .service }}
  service: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "service.ports" -}}
{{- if .facts.http }}
- name: http
  containerPort: 8000
{{- end }}
{{- if .facts.grpc }}
- name: grpc
  containerPort: 50051
{{- end }}
{{- if not .facts.http }}
- name: health
  containerPort: 50052
{{- end }}
- name: metrics
  containerPort: 9464
{{- end -}}

{{- define "service.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .facts.agent }}
- name: file
  mountPath: /etc/agent-workflow/service.json
  subPath: service.json
  readOnly: true
{{- end }}
{{- if and .global.tls.enabled (or .facts.grpc .facts.calls) }}
- name: tls
  mountPath: /etc/agent-workflow/tls
  readOnly: true
{{- end }}
{{- if and .global.poolCredentials.existingSecret .facts.admitsPools }}
- name: pools
  mountPath: /etc/agent-workflow/pools
  readOnly: true
{{- end }}
{{- if .facts.data }}
- name: data
  mountPath: {{ .facts.data }}
{{- end }}
{{- with .values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "service.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 128Mi
{{- if .facts.agent }}
- name: file
  configMap:
    name: {{ include "service.fileName" . }}
{{- end }}
{{- if and .global.tls.enabled (or .facts.grpc .facts.calls) }}
- name: tls
  secret:
    secretName: {{ include "service.tlsSecret" . }}
    # 0440: for the user of the process, by its group.
    defaultMode: 288
{{- end }}
{{- if and .global.poolCredentials.existingSecret .facts.admitsPools }}
- name: pools
  secret:
    secretName: {{ .global.poolCredentials.existingSecret }}
    # 0440: for the user of the process, by its group.
    defaultMode: 288
    items:
      - key: {{ .global.poolCredentials.key }}
        path: pools.json
{{- end }}
{{- if .facts.data }}
- name: data
  persistentVolumeClaim:
    claimName: {{ .values.persistence.existingClaim | default .name }}
{{- end }}
{{- with .values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What a container executes. Takes `command`, which may be absent, and `args`. */}}
{{- define "service.run" -}}
{{- with .command }}
command:
  {{- toYaml . | nindent 2 }}
{{- end }}
args:
  {{- toYaml .args | nindent 2 }}
{{- end -}}

{{- define "service.container" -}}
name: {{ .facts.component }}
image: {{ include "service.image" . }}
imagePullPolicy: {{ .global.image.pullPolicy }}
{{- include "service.run" (dict "command" .facts.command "args" (.facts.args | default (list .facts.main))) | trim | nindent 0 }}
envFrom:
  {{- /* If several define a variable, the last one applies. */}}
  {{- with .values.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  - configMapRef:
      name: {{ .name }}
{{- with include "service.env" . | fromYamlArray }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  {{- include "service.ports" . | trim | nindent 2 }}
# A gateway joins once the record answers it. From then on it stays, and says itself what is unavailable, with a time to wait.
startupProbe:
  {{- include "service.probe" (dict "context" . "path" "/readyz" "service" "live") | nindent 2 }}
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 150
livenessProbe:
  {{- include "service.probe" (dict "context" . "path" "/healthz" "service" "live") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  {{- include "service.probe" (dict "context" . "path" "/healthz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- if gt (int .values.preStopSeconds) 0 }}
lifecycle:
  preStop:
    sleep:
      seconds: {{ .values.preStopSeconds | int }}
{{- end }}
resources:
  {{- toYaml .values.resources | nindent 2 }}
securityContext:
  {{- include "service.containerSecurity" . | nindent 2 }}
volumeMounts:
  {{- include "service.mounts" . | nindent 2 }}
{{- end -}}

{{- define "service.spread" -}}
{{- $c := . -}}
{{- range .values.topologySpread.topologyKeys }}
- topologyKey: {{ . }}
  maxSkew: 1
  whenUnsatisfiable: {{ $c.values.topologySpread.whenUnsatisfiable }}
  labelSelector:
    matchLabels:
      {{- include "service.selector" $c | nindent 6 }}
  matchLabelKeys:
    - pod-template-hash
{{- end }}
{{- end -}}

{{/* The scheduling of a pod. */}}
{{- define "service.place" -}}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The Secrets of registries of all parts and of this one, each once. */}}
{{- define "service.pullSecrets" -}}
{{- $names := list -}}
{{- range concat .global.image.pullSecrets .global.imagePullSecrets .values.imagePullSecrets -}}
{{- $names = append $names (ternary (get (kindIs "map" . | ternary . dict) "name") . (kindIs "map" .)) -}}
{{- end -}}
{{- with uniq $names -}}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}
