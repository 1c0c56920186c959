{{/* A certificate for server and client authentication, for the names of the Service. */}}
{{- define "service.certificate" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- $tls := $c.global.tls -}}
{{- if and $tls.enabled $tls.certManager.enabled (not $c.values.tls.existingSecret) -}}
{{- $service := include "service.nameOf" (dict "context" $c "service" $c.facts.serves) -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
spec:
  secretName: {{ include "service.tlsSecret" $c }}
  commonName: {{ $c.facts.component }}
  dnsNames:
    - {{ $service }}
    - {{ $service }}.{{ $c.namespace }}.svc
    - {{ $service }}.{{ $c.namespace }}.svc.{{ $c.global.clusterDomain }}
  usages:
    - server auth
    - client auth
  duration: {{ $tls.certManager.duration }}
  renewBefore: {{ $tls.certManager.renewBefore }}
  privateKey:
    algorithm: ECDSA
    size: 256
    rotationPolicy: Always
  issuerRef:
    {{- toYaml $tls.certManager.issuerRef | nindent 4 }}
{{- end -}}
{{- end -}}
