{{- define "service.serviceaccount" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- if $c.values.serviceAccount.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "service.metadata" (dict "context" $c "name" (include "service.serviceAccountName" $c)) | nindent 2 }}
  {{- with $c.values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}
{{- end -}}
