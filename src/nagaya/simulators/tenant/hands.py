"""What the simulated components do to the API: the server's own hands, and two grips that only they need.

Everything goes the way of real clients' writes (defaults, admission, validation), so what the simulation makes is as
valid as what a real cluster would hold.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds import pod_binding
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.delete import delete
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.web.options import DeleteOptions, WriteOptions

PODS: Final = GroupResource("", "pods")
NODES: Final = GroupResource("", "nodes")
LEASES: Final = GroupResource("coordination.k8s.io", "leases")
DEPLOYMENTS: Final = GroupResource("apps", "deployments")
REPLICA_SETS: Final = GroupResource("apps", "replicasets")
DAEMON_SETS: Final = GroupResource("apps", "daemonsets")
STATEFUL_SETS: Final = GroupResource("apps", "statefulsets")
JOBS: Final = GroupResource("batch", "jobs")
CLAIMS: Final = GroupResource("", "persistentvolumeclaims")
VOLUMES: Final = GroupResource("", "persistentvolumes")
ATTACHMENTS: Final = GroupResource("storage.k8s.io", "volumeattachments")
STORAGE_CLASSES: Final = GroupResource("storage.k8s.io", "storageclasses")


def table_of(resource: GroupResource) -> str:
    """The store's table of a built-in resource."""
    return f"{resource.group}/{resource.resource}" if resource.group else resource.resource


class Hands(Internal):
    """Reads and writes as one component of the simulated cluster."""

    def __init__(self, backend: Backend, component: str) -> None:
        super().__init__(backend, component)
        self._api = backend

    def now(self) -> str:
        """The date to write on objects."""
        return self._api.now()

    async def bind(self, pod: JsonObject, node: str) -> bool:
        """Give a pod a node. Returns whether it could still have one."""
        metadata = pod["metadata"]
        call = self._call(PODS, "create", metadata["namespace"], metadata["name"], "binding")
        binding: JsonObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {name: metadata[name] for name in ("name", "namespace", "uid")},
            "target": {"kind": "Node", "name": node},
        }
        try:
            await pod_binding.bind(call, metadata["name"], binding, WriteOptions("CreateOptions"))
        except ApiError as error:
            if error.code in (404, 409):
                return False
            raise
        return True

    async def remove_pod(self, pod: JsonObject) -> bool:
        """Take a pod out of the API at once: nothing of it runs any more. Returns whether it was there."""
        metadata = pod["metadata"]
        call = self._call(PODS, "delete", metadata["namespace"], metadata["name"])
        try:
            await delete(self._api, call, metadata["name"], DeleteOptions(uid=metadata["uid"], grace_period=0))
        except ApiError as error:
            if error.code in (404, 409):
                return False
            raise
        return True
