"""Pods of a tenant, and what counts about them when their Node is drained. They are read when they are needed and not
kept: a tenant may have thousands, and most Nodes are never drained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model

MIRROR: Final = "kubernetes.io/config.mirror"
"""The annotation of pods that only show what a kubelet runs from a file of its own."""


class ClaimSource(Model):
    """A claim that a pod uses."""

    claim_name: str = ""


class PodVolume(Model):
    """A volume of a pod: those two sorts that matter here."""

    empty_dir: Mapping[str, Any] | None = None
    persistent_volume_claim: ClaimSource | None = None


class PodSpec(Model):
    """Where a pod runs, and with what."""

    node_name: str = ""
    volumes: tuple[PodVolume, ...] | None = None


class PodStatus(Model):
    """How far a pod is."""

    phase: str = ""


class Pod(Resource):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def finished(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def daemon_set(self) -> str:
        """The name of the DaemonSet that manages it, if one does."""
        owner = self.metadata.controller
        return owner.name if owner is not None and owner.kind == "DaemonSet" else ""

    @property
    def mirror(self) -> bool:
        """Whether its kubelet runs it whatever the API says."""
        return MIRROR in self.metadata.annotations

    @property
    def local_storage(self) -> bool:
        """Whether it has data that goes with it."""
        return any(each.empty_dir is not None for each in self.spec.volumes or ())

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of the claims that it uses."""
        sources = (each.persistent_volume_claim for each in self.spec.volumes or ())
        return tuple(source.claim_name for source in sources if source is not None)


PODS: Final = Kind("", "v1", "Pod", "pods", Pod)
DAEMON_SETS: Final = Kind("apps", "v1", "DaemonSet", "daemonsets", Resource)
NAMESPACES: Final = Kind("", "v1", "Namespace", "namespaces", Resource, namespaced=False)
