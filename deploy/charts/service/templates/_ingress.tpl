{{/* Streams last as long as a run: no proxy may buffer or close them. */}}
{{- define "service.ingress" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- $ingress := $c.values.ingress -}}
{{- if $ingress.enabled -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
  {{- with $ingress.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with $ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $ingress.tls }}
  tls:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    {{- range $ingress.hosts }}
    - host: {{ . | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: {{ $c.name }}
                port:
                  name: http
    {{- end }}
{{- end -}}
{{- end -}}
