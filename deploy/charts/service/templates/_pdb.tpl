{{- define "service.pdb" -}}
{{- $c := include "service.context" . | fromYaml -}}
{{- if $c.values.podDisruptionBudget.enabled -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "service.metadata" (dict "context" $c "name" $c.name) | nindent 2 }}
spec:
  maxUnavailable: {{ $c.values.podDisruptionBudget.maxUnavailable }}
  # A pod that is not ready keeps nobody from emptying its node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "service.selector" $c | nindent 6 }}
{{- end -}}
{{- end -}}
