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

from nagaya.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from nagaya.kube.patches import Merge
from support.lab import KINDS, SECRETS
from support.plane.act import Act
from support.plane.scene import Scene
from support.plane.wish import NAMESPACE, Wish, template_name
from support.proxmox_town_layout import secret

AGAIN: Final = 10.0
"""Seconds after which he tries again what is not possible yet."""
PATIENCE: Final = 3600.0
UNKNOWN_VERSION: Final = "v1.36.9"
"""A version of which there is no template."""
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
        end = scene.now + PATIENCE
        for content in self.wanted.manifests():
            while not await _written(scene, content):
                assert scene.now < end, f"{content['kind']} {content['metadata']['name']} still goes"
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
        await _merge(scene, "KubeadmControlPlane", self.cluster, {"spec": {"replicas": self.control_planes}})


@dataclass(frozen=True, slots=True)
class Upgrade(Deed):
    """Another version of Kubernetes, for all machines."""

    version: str

    def wish(self, wishes: dict[str, Wish]) -> None:
        _change(wishes, self.cluster, version=self.version)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user wants {self.cluster} on {self.version}")
        await _merge(scene, "KubeadmControlPlane", self.cluster, {"spec": {"version": self.version}})
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
    """A cluster is to go."""

    def wish(self, wishes: dict[str, Wish]) -> None:
        wishes.pop(self.cluster, None)

    async def do(self, scene: Scene) -> None:
        scene.tell(f"the user deletes cluster {self.cluster}")
        await scene.delete("Cluster", self.cluster)


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
    kind, name = KINDS[content["kind"]], content["metadata"]["name"]
    try:
        await scene.client.create(kind, content)
    except AlreadyExists:
        found = await scene.get(content["kind"], name)
        if found is None or found.metadata.deleting:
            return False
        clusters = {each.metadata.uid for each in await scene.all("Cluster")}
        if any(each.kind == "Cluster" and each.uid not in clusters for each in found.metadata.owner_references):
            return False
        if not kind.kind.endswith("Template"):
            await _merge(scene, content["kind"], name, {"spec": content["spec"]})
    return True


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
