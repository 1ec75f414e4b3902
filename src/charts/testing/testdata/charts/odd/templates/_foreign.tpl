{{- define "odd.foreign" }}
{{- $_ := lookup "v1" "Secret" "kube-system" "admin" }}
{{- end }}
