"""What nodes may write, as an admission plugin. On only where nodes are clients of this server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.authn.user import node_of
from nagaya.apiserver.authz.node_pod_restriction import Write
from nagaya.apiserver.authz.node_restriction import NodeRestriction
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_RESOURCES: Final = frozenset(
    {
        "pods",
        "nodes",
        "persistentvolumeclaims",
        "serviceaccounts",
        "leases.coordination.k8s.io",
        "csinodes.storage.k8s.io",
        "resourceslices.resource.k8s.io",
        "certificatesigningrequests.certificates.k8s.io",
    }
)


class NodeWrites(Plugin):
    """Refuses what nodes must not write."""

    resources = _RESOURCES

    def __init__(self, backend: Backend) -> None:
        self._rules = NodeRestriction(_Lookups(backend.store), backend.authorizer)

    async def mutate(self, write: Attributes) -> None:
        """Check a node's write."""
        if node_of(write.user) is None:
            return
        self._rules.check(
            Write(
                write.user,
                str(write.operation),
                write.resource.group_resource,
                write.subresource,
                write.namespace,
                write.name,
                write.object,
                write.old,
            )
        )


class _Lookups:
    """The objects that the rules refer to."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _get(self, table: str, key: str) -> JsonObject | None:
        record = self._store.get(table, key)
        return None if record is None else record.object()

    def get_pod(self, namespace: str, name: str) -> JsonObject | None:
        """A Pod."""
        return self._get("pods", f"{namespace}/{name}")

    def get_node(self, name: str) -> JsonObject | None:
        """A Node."""
        return self._get("nodes", name)

    def get_claim(self, namespace: str, name: str) -> JsonObject | None:
        """A PersistentVolumeClaim."""
        return self._get("persistentvolumeclaims", f"{namespace}/{name}")

    def get_volume(self, name: str) -> JsonObject | None:
        """A PersistentVolume."""
        return self._get("persistentvolumes", name)

    def get_csi_driver(self, name: str) -> JsonObject | None:
        """A CSIDriver."""
        return self._get("storage.k8s.io/csidrivers", name)
