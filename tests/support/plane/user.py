"""What a user does: clusters made, scaled, upgraded, rolled, paused, labelled, deleted; and mistakes, put right later.

A user is no controller: he writes an object once, and if it is being deleted waits until it is gone.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from nagaya.kube.patches import Merge
from support.lab import KINDS, SECRETS
from support.plane import addon
from support.plane.act import Act
from support.plane.scene import Scene
from support.plane.wish import NAMESPACE, Wish, template_name
from support.proxmox_town_hosts import clear_away
from support.proxmox_town_layout import secret

AGAIN: Final = 10.0
"""Seconds after which he tries again what is not possible yet."""
PATIENCE: Final = 3600.0
CLEARING: Final = 600.0
"""Seconds after which somebody removes what only people can."""
UNKNOWN_VERSION: Final = "v1.36.9"
"""A version of which there is no template."""
OWNERS: Final = ("Cluster", "ClusterResourceSet")
"""What takes with it what it owns."""
PARTS: Final = (
    "ProxmoxCluster", "KubeadmControlPlane", "HostedControlPlane", "MachineDeployment", "MachineHealthCheck",
)  # fmt: skip
"""What a user writes for a cluster, templates excepted."""
TOO_MUCH: Final = 900 * 1024
"""MiB that no host has."""


@dataclass(frozen=True, slots=True)
class Deed(Act):
    """Something that the user does to a cluster. He does one thing after another."""

    cluster: str

    async def happen(self, scene: Scene) -> None:
        async with scene.turns[self.cluster]:
            self.wish(scene.wishes)
            await self.do(scene)
        await self.put_right(scene)

    async def do(self, scene: Scene) -> None:
        """Do it."""
        raise NotImplementedError

    async def put_right(self, scene: Scene) -> None:
        """Undo it later, if it was a mistake."""


@dataclass(frozen=True, slots=True)
class Create(Deed):
    """A cluster is made. One of the same name that still goes is waited for."""

    wanted: Wish

    def wish(self, wishes: dict[str, Wish]) -> None:
        wishes[self.wanted.name] = self.wanted

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user makes cluster {self.wanted.name}")
        begun = scene.now
        for content in self.wanted.manifests():
            while not await _written(scene, content):
                assert scene.now < begun + PATIENCE, f"{content['kind']} {content['metadata']['name']} still goes"
                if scene.now > begun + CLEARING:
                    for vmid in clear_away(scene):
                        scene.tell(f"somebody removes VM {vmid}, as he was told")
                await asyncio.sleep(AGAIN)


@dataclass(frozen=True, slots=True)
class Scale(Deed):
    """There are to be more or fewer workers."""

    workers: int

    def wish(self, wishes: dict[str, Wish]) -> None:
        _change(wishes, self.cluster, workers=self.workers)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user wants {self.workers} workers of {self.cluster}")
        await _merge(scene, "MachineDeployment", f"{self.cluster}-workers", {"spec": {"replicas": self.workers}})


@dataclass(frozen=True, slots=True)
class ScaleControlPlane(Deed):
    """The control plane is to have more or fewer machines."""

    control_planes: int

    def wish(self, wishes: dict[str, Wish]) -> None:
        _change(wishes, self.cluster, control_planes=self.control_planes)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user wants {self.control_planes} control planes of {self.cluster}")
        await _merge_plane(scene, self.cluster, {"spec": {"replicas": self.control_planes}})


@dataclass(frozen=True, slots=True)
class Upgrade(Deed):
    """Another version of Kubernetes, for all machines."""

    version: str

    def wish(self, wishes: dict[str, Wish]) -> None:
        _change(wishes, self.cluster, version=self.version)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user wants {self.cluster} on {self.version}")
        await _merge_plane(scene, self.cluster, {"spec": {"version": self.version}})
        await _merge(scene, "MachineDeployment", f"{self.cluster}-workers", _machines(version=self.version))


@dataclass(frozen=True, slots=True)
class Roll(Deed):
    """Another template for workers."""

    memory: int

    def wish(self, wishes: dict[str, Wish]) -> None:
        _change(wishes, self.cluster, memory=self.memory)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user wants workers of {self.cluster} with {self.memory} MiB")
        wanted = scene.wishes.get(self.cluster)
        if wanted is not None:
            await scene.create(replace(wanted, memory=self.memory).worker_template())
            reference = {"name": template_name(self.cluster, self.memory)}
            await _merge(scene, "MachineDeployment", f"{self.cluster}-workers", _machines(infrastructureRef=reference))


@dataclass(frozen=True, slots=True)
class Pause(Deed):
    """Nobody is to do anything with a cluster for a while."""

    lasts: float

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user pauses {self.cluster}")
        await _merge(scene, "Cluster", self.cluster, {"spec": {"paused": True}})

    async def put_right(self, scene: Scene) -> None:
        await asyncio.sleep(self.lasts)
        # Not in turn: whoever waits until the cluster is gone waits for this.
        scene.tell(f"the user lets {self.cluster} go on")
        await _merge(scene, "Cluster", self.cluster, {"spec": {"paused": False}})


@dataclass(frozen=True, slots=True)
class Label(Deed):
    """Workers get another label, which needs no other machines."""

    colour: str

    def wish(self, wishes: dict[str, Wish]) -> None:
        _change(wishes, self.cluster, colour=self.colour)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user labels workers of {self.cluster} {self.colour}")
        changed = {"spec": {"template": {"metadata": {"labels": {"colour": self.colour}}}}}
        await _merge(scene, "MachineDeployment", f"{self.cluster}-workers", changed)
        await _merge(scene, "Cluster", self.cluster, {"metadata": {"annotations": {"owner": self.colour}}})


@dataclass(frozen=True, slots=True)
class BringAddon(Deed):
    """A cluster that is there gets something from a ClusterResourceSet."""

    words: str

    def wish(self, wishes: dict[str, Wish]) -> None:
        _change(wishes, self.cluster, addon=self.words)

    async def do(self, scene: Scene) -> None:
        if self.cluster not in scene.wishes:
            return
        scene.tell(f"the user brings {self.cluster} an addon: {self.words}")
        for content in addon.manifests(self.cluster, NAMESPACE, self.words):
            await _written(scene, content)
        await _merge(scene, "Cluster", self.cluster, {"metadata": {"labels": {addon.SELECTED: self.cluster}}})


@dataclass(frozen=True, slots=True)
class EditAddon(Deed):
    """What a cluster gets from its ClusterResourceSet is to be something else."""

    words: str

    def wish(self, wishes: dict[str, Wish]) -> None:
        if self.cluster in wishes and wishes[self.cluster].addon:
            _change(wishes, self.cluster, addon=self.words)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user changes the addon of {self.cluster} to {self.words}")
        with contextlib.suppress(NotFound):
            changed = Merge({"stringData": addon.content(self.words)})
            await scene.client.patch(SECRETS, NAMESPACE, addon.set_name(self.cluster), changed)


@dataclass(frozen=True, slots=True)
class DeleteMachine(Deed):
    """One worker is to go; another one comes."""

    number: int

    async def do(self, scene: Scene) -> None:
        workers = [each for each in await scene.workers() if each.spec.cluster_name == self.cluster]
        if workers:
            names = sorted(each.metadata.name for each in workers)
            name = names[self.number % len(names)]
            scene.tell(f"the user deletes Machine {name}")
            await scene.delete("Machine", name)


@dataclass(frozen=True, slots=True)
class Delete(Deed):
    """A cluster is to go. What nobody has taken for a part of it yet, the user removes himself."""

    def wish(self, wishes: dict[str, Wish]) -> None:
        wishes.pop(self.cluster, None)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user deletes cluster {self.cluster}")
        cluster, resource_set = self.cluster, addon.set_name(self.cluster)
        seen = await _is_held(scene, "Cluster", cluster)
        brings = await _is_held(scene, "ClusterResourceSet", resource_set)
        await scene.delete("Cluster", cluster)
        await scene.delete("ClusterResourceSet", resource_set)
        for kind in PARTS if not seen else ():
            for each in await scene.all(kind):
                if each.metadata.labels.get(CLUSTER_NAME) == cluster:
                    await scene.delete(kind, each.metadata.name)
        if not brings:
            with contextlib.suppress(NotFound):
                await scene.client.delete(SECRETS, NAMESPACE, resource_set)


@dataclass(frozen=True, slots=True)
class Mistake(Deed):
    """Workers are to be what they cannot be, until the user notices."""

    lasts: float

    async def put_right(self, scene: Scene) -> None:
        await asyncio.sleep(self.lasts)
        async with scene.turns[self.cluster]:
            wanted = scene.wishes.get(self.cluster)
            if wanted is not None:
                scene.tell(f"the user puts it right for {self.cluster}")
                right = _machines(infrastructureRef={"name": wanted.template}, version=wanted.version)
                await _merge(scene, "MachineDeployment", f"{self.cluster}-workers", right)


@dataclass(frozen=True, slots=True)
class WrongTemplate(Mistake):
    """A template that does not exist."""

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user names a template that is not there, for {self.cluster}")
        wrong = _machines(infrastructureRef={"name": "nobodys"})
        await _merge(scene, "MachineDeployment", f"{self.cluster}-workers", wrong)


@dataclass(frozen=True, slots=True)
class TooMuchMemory(Mistake):
    """More memory than any host has."""

    async def do(self, scene: Scene) -> None:
        wanted = scene.wishes.get(self.cluster)
        if wanted is not None:
            scene.tell(f"the user wants workers that fit on no host, for {self.cluster}")
            huge = replace(wanted, memory=TOO_MUCH)
            await scene.create(huge.worker_template())
            wrong = _machines(infrastructureRef={"name": huge.template})
            await _merge(scene, "MachineDeployment", f"{self.cluster}-workers", wrong)


@dataclass(frozen=True, slots=True)
class WrongVersion(Mistake):
    """A version of which there is no template."""

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user wants a version that is on no template, for {self.cluster}")
        await _merge(scene, "MachineDeployment", f"{self.cluster}-workers", _machines(version=UNKNOWN_VERSION))


@dataclass(frozen=True, slots=True)
class WrongSecret(Act):
    """The secret of the token is not the right one for a while."""

    lasts: float

    async def happen(self, scene: Scene) -> None:
        scene.tell("the user writes a wrong secret of the token")
        await self._write(scene, "wrong")
        await asyncio.sleep(self.lasts)
        scene.tell("the user writes the right secret of the token")
        await self._write(scene, secret(scene.datacenter))

    async def _write(self, scene: Scene, value: str) -> None:
        content = {"data": {"secret": base64.b64encode(value.encode()).decode()}}
        await scene.client.patch(SECRETS, NAMESPACE, "pve", Merge(content))


def _change(wishes: dict[str, Wish], cluster: str, **changed: Any) -> None:
    if cluster in wishes:
        wishes[cluster] = replace(wishes[cluster], **changed)


async def _written(scene: Scene, content: Mapping[str, Any]) -> bool:
    """Whether an object is there as it is wanted. One that goes is not, nor is one whose owner is gone."""
    kind, name = KINDS.get(content["kind"], SECRETS), content["metadata"]["name"]
    try:
        await scene.client.create(kind, content)
    except AlreadyExists:
        try:
            found = await scene.client.get(kind, NAMESPACE, name)
        except NotFound:
            return False
        if found.metadata.deleting:
            return False
        uids = {each.metadata.uid for owner in OWNERS for each in await scene.all(owner) if not each.metadata.deleting}
        if any(each.kind in OWNERS and each.uid not in uids for each in found.metadata.owner_references):
            return False
        if not kind.kind.endswith("Template"):
            changed = {key: content[key] for key in ("spec", "stringData") if key in content}
            with contextlib.suppress(NotFound):
                await scene.client.patch(kind, NAMESPACE, name, Merge(changed))
    return True


async def _is_held(scene: Scene, kind: str, name: str) -> bool:
    """Whether a controller has seen an object, and sees to it that all goes which belongs to it."""
    found = await scene.get(kind, name)
    return found is not None and bool(found.metadata.finalizers)


async def _merge_plane(scene: Scene, cluster: str, content: Mapping[str, Any]) -> None:
    """Change the control plane of a cluster that is still wanted."""
    wanted = scene.wishes.get(cluster)
    if wanted is not None:
        await _merge(scene, wanted.kind, cluster, content)


async def _merge(scene: Scene, kind: str, name: str, content: Mapping[str, Any]) -> None:
    """Change an object that is there; of one that is not, or is refused because it goes, nothing is wanted."""
    with contextlib.suppress(NotFound):
        for _ in range(3):
            try:
                await scene.merge(kind, name, content)
            except Conflict:
                continue
            except ApiError as error:
                scene.tell(f"the user is refused: {error}")
            return


def _machines(**spec: Any) -> Mapping[str, Any]:
    return {"spec": {"template": {"spec": spec}}}
