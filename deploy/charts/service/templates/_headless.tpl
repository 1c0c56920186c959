{{/* A headless Service: callers resolve every replica and balance between them. */}}
{{- define "service.headless" -}}
{{- $c := include "service.context" . | fromYaml -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "service.metadata" (dict "context" $c "name" (include "service.nameOf" (dict "context" $c "service" $c.facts.serves))) | nindent 2 }}
spec:
  clusterIP: None
  {{- with include "service.ipFamilies" $c | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  selector:
    {{- include "service.selector" $c | nindent 4 }}
  ports:
    - name: grpc
      port: 50051
      targetPort: grpc
      appProtocol: kubernetes.io/h2c
{{- end -}}
