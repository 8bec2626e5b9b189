"""Whose boot data a KubeadmConfig is: that of a Machine, or of all machines of a MachinePool."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.bootstrap.kubeadm_config import KubeadmConfig
from nagaya.api.cluster import labels
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_pool import MACHINE_POOLS, MachinePool
from nagaya.clusters.owners import is_a
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key


@dataclass(frozen=True, slots=True)
class ConfigOwner:
    """What matters of the owner, whichever it is."""

    kind: str
    name: str
    cluster_name: str
    version: str
    data_secret_name: str = ""
    """Once the owner has it, its data is made for good."""
    control_plane: bool = False
    joined: bool = False
    """Whether there is a Node for each machine."""

    @property
    def pool(self) -> bool:
        """Whether more machines may come that boot with the same data."""
        return self.kind == MACHINE_POOLS.kind


def of_machine(machine: Machine) -> ConfigOwner:
    """A Machine."""
    spec = machine.spec
    return ConfigOwner(
        MACHINES.kind,
        machine.metadata.name,
        spec.cluster_name,
        spec.version,
        spec.bootstrap.data_secret_name or "",
        labels.CONTROL_PLANE in machine.metadata.labels,
        machine.status.node_ref is not None,
    )


def of_pool(pool: MachinePool) -> ConfigOwner:
    """A MachinePool, which never has control planes."""
    spec = pool.spec.template.spec
    wanted = 1 if pool.spec.replicas is None else pool.spec.replicas
    return ConfigOwner(
        MACHINE_POOLS.kind,
        pool.metadata.name,
        pool.spec.cluster_name,
        spec.version,
        spec.bootstrap.data_secret_name or "",
        joined=len(pool.status.node_refs) == wanted,
    )


def owner_of(cache: Cache, config: KubeadmConfig) -> ConfigOwner | None:
    """The owner of a config. None if it has none, or if that is not there yet."""
    metadata = config.metadata
    for reference in metadata.owner_references:
        key = Key(metadata.namespace, reference.name)
        if is_a(reference, MACHINES):
            machine = cache.get(MACHINES, key)
            return None if machine is None else of_machine(machine)
        if is_a(reference, MACHINE_POOLS):
            pool = cache.get(MACHINE_POOLS, key)
            return None if pool is None else of_pool(pool)
    return None
