"""Reading what a forecast needs: the Clusters that manifests are about, with all their machines, as they would be.

One list for each kind and namespace. What the manifests change is put over what was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.cluster_status import ClusterInitialization, FailureDomainStatus
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.template import SUFFIX
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.api.conversion.proxmox.review import Unconvertible, converted
from nagaya.api.kind import Kind, Object
from nagaya.api.untyped import Untyped
from nagaya.insight.foresight.change import Verb
from nagaya.insight.foresight.fleet import Fleet, Template, by_name
from nagaya.insight.foresight.move import BY_HAND, Move
from nagaya.insight.foresight.rehearsal import Rehearsed
from nagaya.insight.picture.kinds import Kinds
from nagaya.kube.client import Client
from nagaya.kube.errors import Forbidden, NotFound

T = TypeVar("T", bound=Object)
MATTERS: Final = frozenset({"Cluster", "MachineDeployment", "MachineSet", "Machine", "KubeadmControlPlane",
                            "HostedControlPlane"})  # fmt: skip
"""Kinds whose change may move machines."""
_ANYWHERE: Final = Endpoint(host="0.0.0.0", port=6443)  # noqa: S104 - stands for an address that is not known yet


@dataclass(frozen=True, slots=True)
class Future:
    """A Cluster as it would be right after the apply."""

    fleet: Fleet
    before: tuple[str, ...]
    """The names of its machines now."""
    changed: tuple[str, ...]
    """The titles of the objects that the manifests make or change, of those that may move machines."""
    versions: tuple[tuple[str, str, str], ...] = ()
    """Objects whose Kubernetes version changes: title, from, to."""


class Reader:
    """Reads the future of one plan."""

    def __init__(self, client: Client, kinds: Kinds, rehearsed: Sequence[Rehearsed], now: datetime) -> None:
        self._client = client
        self._kinds = kinds
        self._rehearsed = [each for each in rehearsed if each.after is not None]
        self._now = now
        self._listed: dict[tuple[Kind[Any], str], list[Any]] = {}
        self.not_foreseen: list[str] = []
        """What cannot be told, and why, a sentence each."""

    async def futures(self) -> list[Future]:
        """Every Cluster that something is made or changed for. Raises what the client does."""
        found = []
        for namespace in sorted({each.change.namespace for each in self._rehearsed if each.change.namespace}):
            clusters = await self._all(CLUSTERS, namespace)
            for cluster in clusters:
                changed = [each for each in self._rehearsed if self._concerns(each, cluster)]
                if changed:
                    found.append(await self._future(namespace, cluster, changed))
        return found

    def _concerns(self, rehearsed: Rehearsed, cluster: Cluster) -> bool:
        change, obj = rehearsed.change, rehearsed.after
        if obj is None or change.kind not in MATTERS or change.verb not in (Verb.CREATE, Verb.CHANGE):
            return False
        if change.namespace != cluster.metadata.namespace:
            return False
        plane = cluster.spec.control_plane_ref
        return cluster.metadata.name in (
            change.name if change.kind == "Cluster" else "",
            obj.at("spec", "clusterName"),
            obj.metadata.labels.get(CLUSTER_NAME),
        ) or (plane is not None and (plane.kind, plane.name) == (change.kind, change.name))

    async def _future(self, namespace: str, cluster: Cluster, changed: Sequence[Rehearsed]) -> Future:
        name = cluster.metadata.name
        deployments = [each for each in await self._all(MACHINE_DEPLOYMENTS, namespace) if _is_of(each, name)]
        sets = [each for each in await self._all(MACHINE_SETS, namespace) if _is_of(each, name)]
        machines = [each for each in await self._all(MACHINES, namespace) if _is_of(each, name)]
        kubeadm = await self._kubeadm(namespace, cluster)
        fleet = Fleet(
            cluster=await self._provisioned(namespace, cluster),
            now=self._now,
            deployments=by_name(each for each in deployments if not each.metadata.deleting),
            sets=by_name(sets),
            machines=by_name(machines),
            kubeadm=kubeadm,
            plane=await self._plane(namespace, cluster, kubeadm),
            configs=by_name(await self._all(KUBEADM_CONFIGS, namespace)) if kubeadm is not None else {},
        )
        specs = [*(each.spec.template.spec for each in deployments), *(each.spec.template.spec for each in sets)]
        references = [each.infrastructure_ref for each in specs]
        references += [each.bootstrap.config_ref for each in specs if each.bootstrap.config_ref is not None]
        if kubeadm is not None:
            references.append(kubeadm.spec.machine_template.spec.infrastructure_ref)
        fleet.templates = await self._templates(namespace, references)
        fleet.hosts = await self._hosts(namespace, machines)
        fleet.known = dict(fleet.machines)
        declared = {
            each.change.name for each in changed if (each.change.kind, each.change.verb) == ("Machine", Verb.CREATE)
        }
        for each in sorted(declared & fleet.machines.keys()):
            fleet.moves.append(Move(True, each, BY_HAND, fleet.machines[each].spec.version, "The manifests make it."))
        return Future(
            fleet,
            tuple(sorted(fleet.machines.keys() - declared)),
            tuple(each.change.title for each in changed),
            tuple(_versions(changed)),
        )

    async def _kubeadm(self, namespace: str, cluster: Cluster) -> KubeadmControlPlane | None:
        reference = cluster.spec.control_plane_ref
        if reference is None or reference.kind != KUBEADM_CONTROL_PLANES.kind:
            return None
        planes = await self._all(KUBEADM_CONTROL_PLANES, namespace)
        return next((each for each in planes if each.metadata.name == reference.name), None)

    async def _plane(self, namespace: str, cluster: Cluster, kubeadm: KubeadmControlPlane | None) -> Untyped | None:
        """The control plane object. One of another kind is taken to reach its version: it needs no machines for it."""
        if kubeadm is not None:
            return Untyped(KUBEADM_CONTROL_PLANES.content(kubeadm))
        reference = cluster.spec.control_plane_ref
        found = None if reference is None else self._kinds.get(reference.api_group, reference.kind)
        if reference is None or found is None:
            return None
        objects = await self._all(found.kind, namespace)
        plane = next((each for each in objects if each.metadata.name == reference.name), None)
        if plane is None:
            return None
        version = plane.at("spec", "version")
        status = {**(plane.at("status") or {}), "version": version, "versions": None}
        return Untyped({**plane.raw, "status": status})

    async def _provisioned(self, namespace: str, cluster: Cluster) -> Cluster:
        """The Cluster, once its infrastructure is there: a forecast does not wait for that."""
        status = cluster.status
        done = ClusterInitialization(
            infrastructure_provisioned=True,
            control_plane_initialized=status.initialization.control_plane_initialized,
        )
        domains = status.failure_domains
        if not status.initialization.infrastructure_provisioned:
            domains = await self._domains(namespace, cluster)
        spec = cluster.spec
        if not spec.control_plane_endpoint.valid:
            spec = msgspec.structs.replace(spec, control_plane_endpoint=_ANYWHERE)
        status = msgspec.structs.replace(status, initialization=done, failure_domains=domains)
        return msgspec.structs.replace(cluster, spec=spec, status=status)

    async def _domains(self, namespace: str, cluster: Cluster) -> tuple[FailureDomainStatus, ...]:
        reference = cluster.spec.infrastructure_ref
        found = None if reference is None else self._kinds.get(reference.api_group, reference.kind)
        if reference is None or found is None:
            return ()
        objects = await self._all(found.kind, namespace)
        obj = next((each for each in objects if each.metadata.name == reference.name), None)
        declared = None if obj is None else obj.at("spec", "failureDomains")
        if not isinstance(declared, list):
            return ()
        return tuple(
            FailureDomainStatus(name=str(each["name"]), control_plane=each.get("controlPlane", True) is not False)
            for each in declared
            if isinstance(each, Mapping) and each.get("name")
        )

    async def _templates(
        self, namespace: str, references: Iterable[ContractReference]
    ) -> Mapping[tuple[str, str, str], Template]:
        made: dict[tuple[str, str, str], Template] = {}
        for each in references:
            key = (each.api_group, each.kind, each.name)
            if key in made:
                continue
            found = self._kinds.get(each.api_group, each.kind)
            product = self._kinds.get(each.api_group, each.kind.removesuffix(SUFFIX))
            obj = None
            if found is not None:
                objects = await self._all(found.kind, namespace)
                obj = next((one for one in objects if one.metadata.name == each.name), None)
            made[key] = Template(
                each,
                None if found is None else found.kind,
                None if product is None else product.kind,
                obj,
                (found.contract if found is not None else "") or "v1beta2",
            )
        return made

    async def _hosts(self, namespace: str, machines: Iterable[Machine]) -> dict[str, Untyped]:
        hosts: dict[str, Untyped] = {}
        for machine in machines:
            reference = machine.spec.infrastructure_ref
            found = self._kinds.get(reference.api_group, reference.kind)
            if found is None:
                continue
            objects = await self._all(found.kind, namespace)
            obj = next((each for each in objects if each.metadata.name == reference.name), None)
            if obj is not None:
                hosts[machine.metadata.name] = obj
        return hosts

    async def _all(self, kind: Kind[T], namespace: str) -> list[T]:
        """All objects of a kind, as they would be."""
        key = (kind, namespace)
        if key not in self._listed:
            try:
                there = by_name((await self._client.list(kind, namespace)).items)
            except (Forbidden, NotFound):
                there = {}  # nothing of it can be told then
            for each in self._rehearsed:
                if each.after is not None and _same_kind(kind, each, namespace):
                    try:
                        # CAPMOX's v1alpha1 is read as the server stores it.
                        there[each.change.name] = kind.convert(converted(each.after.raw, kind.api_version))
                    except Unconvertible:
                        self.not_foreseen.append(
                            f"{each.change.title} is written in {each.after.api_version}, so what it moves is not "
                            f"foretold: `nagaya convert` writes it in {kind.api_version}."
                        )
            self._listed[key] = list(there.values())
        return self._listed[key]

    def creates(self, kind: str, name: str) -> bool:
        """Whether the manifests make an object that is not there yet."""
        made = ((each.change.kind, each.change.name) for each in self._rehearsed if each.change.verb is Verb.CREATE)
        return (kind, name) in made

    async def all(self, kind: Kind[T], namespace: str) -> list[T]:
        """All objects of a kind in a namespace, as they would be after the apply."""
        return await self._all(kind, namespace)


def _same_kind(kind: Kind[Any], rehearsed: Rehearsed, namespace: str) -> bool:
    obj = rehearsed.after
    assert obj is not None
    group = obj.api_version.rpartition("/")[0]
    return (group, obj.kind, rehearsed.change.namespace) == (kind.group, kind.kind, namespace)


def _is_of(obj: Any, cluster: str) -> bool:
    return bool(obj.spec.cluster_name == cluster)


def _versions(changed: Iterable[Rehearsed]) -> Iterable[tuple[str, str, str]]:
    for each in changed:
        for path in (("spec", "version"), ("spec", "template", "spec", "version")):
            before = None if each.before is None else each.before.at(*path)
            after = None if each.after is None else each.after.at(*path)
            if isinstance(before, str) and isinstance(after, str) and before != after:
                yield each.change.title, before, after
