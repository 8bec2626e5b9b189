"""Where the embedded server answers otherwise than the real one, on purpose. Every entry has a reason.

A pattern is matched against lines such as `config_maps: watches #7 .body[0].type: ...`: scenario, number of the
request, path and both values.
"""

from __future__ import annotations

KNOWN: dict[str, str] = {
    r"columnDefinitions\[\d+\]\.description": (
        "Kubernetes' descriptions of columns are sentences from its type documentation; ours are our own."
    ),
    r"kube-root-ca.crt.*kubernetes.io/description": "The note on this ConfigMap is worded by us.",
    r'is invalid: patch: Invalid value: |\.causes\[0\]\.message: "Invalid value: \\"\{\\\\\\"apiVersion': (
        "The message quotes the whole patched object; members of built-in kinds stand in alphabetical order, not in "
        "that of Go's structs."
    ),
}
