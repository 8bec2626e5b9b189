"""Roles that kubeadm of a newer version expects in a tenant that an older one has started.

`kubeadm upgrade` would make them, but machines are replaced instead. What is there already is left as it is. Earlier
versions do no harm: the changes may have been brought back to them.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.kubernetes_version import parse
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, NotFound

BINDINGS: Final = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", Untyped, namespaced=False
)
NOT_NEEDED_FROM: Final = (1, 38)
"""A cluster on its way to this version has been through one whose kubeadm made all of them itself."""


def _binding(name: str, role: str, subject: str, subject_name: str) -> dict[str, Any]:
    group = BINDINGS.group
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": subject, "name": subject_name}],
    }


WANTED: Final = (
    # Since 1.29 administrators are no longer above all rules.
    _binding("kubeadm:cluster-admins", "cluster-admin", "Group", "kubeadm:cluster-admins"),
    # Since 1.37 the API server may do no more with kubelets than it needs to.
    _binding("kubeadm:apiserver-kubelet-client", "system:kubelet-api-admin", "User", "kube-apiserver-kubelet-client"),
)


async def allow_kubeadm(client: Client, version: str) -> None:
    """Make what is missing. Raises what the tenant refuses."""
    parsed = parse(version)
    if parsed is not None and (parsed.major, parsed.minor) >= NOT_NEEDED_FROM:
        return
    for each in WANTED:
        try:
            await client.get(BINDINGS, "", each["metadata"]["name"])
        except NotFound:
            await _create(client, each)


async def _create(client: Client, content: dict[str, Any]) -> None:
    try:
        await client.create(BINDINGS, content)
    except AlreadyExists:
        return
