"""Which labels a node may set on itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_RESTRICTED: Final = "node-restriction.kubernetes.io"
_KUBERNETES: Final = ("kubernetes.io", "k8s.io")
_KUBELET_NAMESPACES: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_KUBELET_LABELS: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)


def forbidden_changes(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """The labels that differ and that a node must not touch, sorted.

    Labels outside Kubernetes' own namespaces are free, except those an administrator keeps for telling nodes apart.
    """
    changed = {key for key in new.keys() | old.keys() if new.get(key) != old.get(key)}
    return sorted(key for key in changed if _is_forbidden(key))


def _is_forbidden(label: str) -> bool:
    namespace = label.partition("/")[0] if "/" in label else ""
    if _is_within(namespace, (_RESTRICTED,)):
        return True
    own = label in _KUBELET_LABELS or _is_within(namespace, _KUBELET_NAMESPACES)
    return _is_within(namespace, _KUBERNETES) and not own


def _is_within(namespace: str, domains: tuple[str, ...]) -> bool:
    return any(namespace == domain or namespace.endswith(f".{domain}") for domain in domains)
