"""Which volumes pods need where: from a pod's claims to bound volumes to their unique names on nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from nagaya.apiserver.registry.backend import Backend
from nagaya.simulators.tenant.hands import CLAIMS, VOLUMES, Hands
from nagaya.simulators.tenant.view import PodSeen, View


class Volume(NamedTuple):
    """A bound volume of a storage driver."""

    name: str  # of the PersistentVolume
    driver: str
    handle: str

    @property
    def unique_name(self) -> str:
        """How nodes call it in their status."""
        return f"kubernetes.io/csi/{self.driver}^{self.handle}"

    def attachment(self, node: str) -> str:
        """The name of its VolumeAttachment to a node, as the real controller makes it."""
        return "csi-" + hashlib.sha256(f"{self.name}{self.driver}{node}".encode()).hexdigest()


class VolumeNeeds:
    """Answers from the API what pods need."""

    def __init__(self, backend: Backend, view: View) -> None:
        self._api = Hands(backend, "kube-controller-manager")
        self._view = view

    def volumes(self, pod: PodSeen) -> Iterator[Volume | None]:
        """For every claim of a pod its volume; None for one that has none yet."""
        for name in pod.claims:
            claim = self._api.get(CLAIMS, pod.namespace, name)
            bound = ((claim or {}).get("spec") or {}).get("volumeName") or ""
            yield self.volume(bound)

    def volume(self, name: str) -> Volume | None:
        """A PersistentVolume of a storage driver by its name."""
        found = self._api.get(VOLUMES, "", name) if name else None
        source = ((found or {}).get("spec") or {}).get("csi")
        return Volume(name, source["driver"], source["volumeHandle"]) if source else None

    def are_met(self, pod: PodSeen) -> bool:
        """Whether all volumes of a pod are attached to its node."""
        if not pod.claims:
            return True
        node = self._view.nodes().get(pod.node)
        attached = node.volumes if node else frozenset()
        return all(volume is not None and volume.unique_name in attached for volume in self.volumes(pod))

    def wanted_on(self, node: str) -> set[Volume]:
        """The volumes that pods on a node use, until they are gone."""
        pods = [pod for pod in self._view.pods_on(node) if pod.claims and not pod.ended]
        return {volume for pod in pods for volume in self.volumes(pod) if volume is not None}
