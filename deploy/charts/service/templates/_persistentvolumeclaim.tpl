{{/* Kept when the release is uninstalled: it holds the record. */}}
{{- define "service.persistentvolumeclaim" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- $persistence := $c.values.persistence -}}
{{- if not $persistence.existingClaim -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
  annotations:
    helm.sh/resource-policy: keep
spec:
  accessModes:
    - ReadWriteOnce
  {{- with $persistence.storageClassName }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ $persistence.size }}
{{- end -}}
{{- end -}}
