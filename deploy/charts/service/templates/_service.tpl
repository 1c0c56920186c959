{{/* The Service for HTTP callers. */}}
{{- define "service.service" -}}
{{- $c := include "service.context" . | fromYaml -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
  {{- with $c.values.service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ $c.values.service.type }}
  {{- with include "service.ipFamilies" $c | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  selector:
    {{- include "service.selector" $c | nindent 4 }}
  ports:
    - name: http
      port: {{ $c.values.service.port | int }}
      targetPort: http
      appProtocol: http
{{- end -}}
