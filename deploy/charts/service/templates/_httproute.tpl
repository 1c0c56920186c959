{{/* `0s` is no timeout: the service has its own deadlines, and a stream lasts as long as its run. */}}
{{- define "service.httproute" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- $route := $c.values.httpRoute -}}
{{- if $route.enabled -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
  {{- with $route.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  parentRefs:
    {{- toYaml $route.parentRefs | nindent 4 }}
  {{- with $route.hostnames }}
  hostnames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - matches:
        - path:
            type: PathPrefix
            value: /
      timeouts:
        request: 0s
        backendRequest: 0s
      backendRefs:
        - name: {{ $c.name }}
          port: {{ $c.values.service.port | int }}
{{- end -}}
{{- end -}}
