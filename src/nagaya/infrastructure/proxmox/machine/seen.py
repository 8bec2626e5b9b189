"""Everything that a decision about a machine may depend on: objects from the cache, and a fresh look at its VM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.ipam.global_in_cluster_ip_pool import GLOBAL_IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address import IP_ADDRESSES, IPAddress
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS, IPAddressClaim
from nagaya.api.kind import Kind
from nagaya.api.proxmox.addresses import METRIC_ANNOTATION
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, ProxmoxVirtualMachine
from nagaya.clusters.owners import is_a
from nagaya.infrastructure.proxmox.boot.nocloud import PROVIDER
from nagaya.infrastructure.proxmox.client import Phase, Snapshot, TaskState
from nagaya.infrastructure.proxmox.client.agent import Interface
from nagaya.infrastructure.proxmox.client.high_availability import HaResource, HaRule
from nagaya.infrastructure.proxmox.placement import Inventory, Reservation
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Identity
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.infrastructure.proxmox.virtual_machine.marker import CLAIM
from nagaya.infrastructure.proxmox.virtual_machine.reservations import (
    BY_MACHINE,
    index_reservations,
    is_left,
    is_untouched,
)
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

_POOLS: Final[Mapping[str, Kind[Any]]] = {
    each.kind: each for each in (IN_CLUSTER_IP_POOLS, GLOBAL_IN_CLUSTER_IP_POOLS)
}  # fmt: skip
CLONE_TASK: Final = "qmclone"
BY_CLUSTER: Final = "proxmox-cluster"
"""The index of ProxmoxMachines by `namespace/name` of their Cluster."""


@dataclass(frozen=True, slots=True)
class Guest:
    """What the guest agent said."""

    answers: bool
    why: str = ""
    """Why it does not."""
    interfaces: tuple[Interface, ...] = ()
    cloud_init: str = ""
    """`done`, `running`, `unknown` if it cannot be read, or what went wrong."""
    instance: str = ""
    """Which instance cloud-init takes the guest for; asked only while boot data are handed over by the agent."""
    evidence: str = ""
    """What the guest says when it takes too long, in sentences."""
    gave_up: bool = False
    """Whether its first start has ended without what the bootstrap provider had it do."""
    again: float = 0.0
    """Seconds until it may be asked again, of one that is waited for."""


@dataclass(frozen=True, slots=True)
class Managed:
    """What the HA manager was told, of this machine and of those that its rules are about."""

    resource: HaResource | None
    rules: Mapping[str, HaRule] = field(default_factory=dict)
    kin: frozenset[int] = frozenset()
    """The VMIDs of machines of its cluster and role that ask for the same, itself included, as far as they are
    managed."""
    why: str = ""
    """Why it cannot be told, or not all of it."""


@dataclass(frozen=True, slots=True)
class Objects:
    """What the cache has."""

    machine: ProxmoxMachine
    owner: Machine | None
    cluster: Cluster | None
    infrastructure: ProxmoxCluster | None
    reservation: ProxmoxVirtualMachine | None
    claims: Mapping[str, IPAddressClaim] = field(default_factory=dict)
    addresses: Mapping[str, IPAddress] = field(default_factory=dict)
    """By the name of their claim."""
    metrics: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """What the pools of its devices say of the price of their default route, by kind and name."""
    plane: str = ""
    """Which management API this is."""

    @property
    def uid(self) -> str:
        """Of the ProxmoxMachine."""
        return self.machine.metadata.uid

    @property
    def vmid(self) -> int | None:
        """The VMID that is reserved, or that the machine says it has."""
        return self.reservation.spec.vmid if self.reservation is not None else self.machine.spec.virtual_machine_id

    @property
    def identity(self) -> Identity | None:
        """The VM that is meant."""
        own, metadata = self.machine.spec, self.machine.metadata
        if self.reservation is None:
            if own.virtual_machine_id is None or not own.provider_id:
                return None
            made = Identity(own.virtual_machine_id, metadata.name, metadata.uid)
        else:
            spec = self.reservation.spec
            made = Identity(spec.vmid, spec.name, spec.machine_ref.uid, spec.pool, needs_marker=True)
        return replace(
            made,
            uuid=own.provider_id.removeprefix(PROVIDER) if own.provider_id else "",
            since=None if self.reservation is None else self.reservation.metadata.creation_timestamp,
            machine=f"{metadata.namespace}/{metadata.name}",
            plane=self.plane,
            claim=metadata.annotations.get(CLAIM, ""),
            needs_uuid=made.uid != metadata.uid,
        )

    @property
    def has_boot_data(self) -> bool:
        """Whether the VM has had its boot data. Where the status is lost, as after a move to another API, the Machine
        knows: it is told the provider ID only when all is made."""
        if self.machine.status.bootstrap_data_provided is True:
            return True
        known, own = self.owner.spec.provider_id if self.owner is not None else "", self.machine.spec.provider_id
        return bool(known) and known == own

    @property
    def is_untouched(self) -> bool:
        """Whether a VMID is reserved under which nothing was cloned yet."""
        return not self.machine.spec.provider_id and self.reservation is not None and is_untouched(self.reservation)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Those that the CD image with its boot data may be on."""
        return self.reservation.status.boot_data_on if self.reservation is not None else ()

    @property
    def last_node(self) -> str:
        """Where the VM was last."""
        told = self.reservation.status.node if self.reservation is not None else ""
        return self.machine.status.proxmox_node or told


@dataclass(frozen=True, slots=True)
class Seen:
    """Objects, and the world outside."""

    objects: Objects
    now: datetime
    link: Link | None = None
    no_link: str = ""
    """Why there is none."""
    snapshot: Snapshot | None = None
    found: Found | None = None
    """None: nothing is reserved, so there is nothing to look for."""
    leftovers: tuple[str, ...] = ()
    task: TaskState | None = None
    guest: Guest | None = None
    inventory: Inventory | None = None
    """For placement, while the machine has no VM."""
    promised: tuple[Reservation, ...] = ()
    failures: int = 0
    settled: bool = False
    """Whether its boot data are known to be removed."""
    erased: bool | None = None
    """Whether boot data in the guest are known to be taken out; None if that is not known, or there are none."""
    managed: Managed | None = None
    """What the HA manager has of it, where it is to look after it."""
    called: bool = False
    """Whether it need not wait out the pause after a failure."""

    @property
    def retry_after(self) -> datetime | None:
        """Until when nothing is tried after a failure; None if nothing is waited for."""
        later = self.machine.status.retry_after
        return later if later is not None and later > self.now and not self.called else None

    @property
    def clone_failed(self) -> bool:
        """Whether the last that was done for it was a clone, which failed."""
        return self.task is not None and self.task.phase is Phase.FAILED and self.task.upid.type == CLONE_TASK

    @property
    def machine(self) -> ProxmoxMachine:
        """The ProxmoxMachine."""
        return self.objects.machine

    @property
    def provisioned(self) -> bool:
        """Whether the machine has been made."""
        return self.machine.status.initialization.provisioned is True


def index(cache: Cache) -> None:
    """Keep what machines need, found in the ways they need it."""
    kinds: tuple[Kind[Any], ...] = (
        PROXMOX_MACHINES,
        PROXMOX_CLUSTERS,
        PROXMOX_CONNECTIONS,
        IP_ADDRESS_CLAIMS,
        IP_ADDRESSES,
        *_POOLS.values(),
    )
    for kind in kinds:
        if not cache.has(kind):
            cache.start(kind)
    cache.add_index(PROXMOX_MACHINES, BY_CLUSTER, _cluster)
    index_reservations(cache)


def read(rt: Runtime, machine: ProxmoxMachine) -> Objects:
    """The objects around a machine."""
    cache, namespace = rt.cache, machine.metadata.namespace
    owner = _owner(cache, machine)
    cluster_name = owner.spec.cluster_name if owner else machine.metadata.labels.get(labels.CLUSTER_NAME, "")
    cluster = cache.get(CLUSTERS, Key(namespace, cluster_name))
    claims = {
        each.metadata.name: each
        for each in cache.owned(IP_ADDRESS_CLAIMS, machine.metadata.uid)
    }  # fmt: skip
    addresses = {
        name: address
        for name, claim in claims.items()
        if claim.status.address_ref is not None
        and (address := cache.get(IP_ADDRESSES, Key(namespace, claim.status.address_ref.name))) is not None
    }
    return Objects(
        machine,
        owner,
        cluster,
        _infrastructure(cache, cluster),
        _reservation(cache, machine),
        claims,
        addresses,
        _metrics(cache, machine),
    )


def _metrics(cache: Cache, machine: ProxmoxMachine) -> dict[tuple[str, str], int]:
    """What is no number is as if it were not there: the price is chosen then."""
    network, made = machine.spec.network, dict[tuple[str, str], int]()
    for ref in (each for device in (network.network_devices if network else ()) for each in device.ip_pool_ref):
        if (kind := _POOLS.get(ref.kind)) is None:
            continue
        pool = cache.get(kind, Key(machine.metadata.namespace if kind.namespaced else "", ref.name))
        said = pool.metadata.annotations.get(METRIC_ANNOTATION, "") if pool is not None else ""
        if said.isascii() and said.isdigit():
            made[ref.kind, ref.name] = int(said)
    return made


def _owner(cache: Cache, machine: ProxmoxMachine) -> Machine | None:
    for reference in machine.metadata.owner_references:
        if is_a(reference, MACHINES):
            found = cache.get(MACHINES, Key(machine.metadata.namespace, reference.name))
            if found is not None and found.metadata.uid == reference.uid:
                return found
    return None


def _infrastructure(cache: Cache, cluster: Cluster | None) -> ProxmoxCluster | None:
    reference = None if cluster is None else cluster.spec.infrastructure_ref
    if cluster is None or reference is None:
        return None
    if (reference.api_group, reference.kind) != (PROXMOX_CLUSTERS.group, PROXMOX_CLUSTERS.kind):
        return None
    return cache.get(PROXMOX_CLUSTERS, Key(cluster.metadata.namespace, reference.name))


def _reservation(cache: Cache, machine: ProxmoxMachine) -> ProxmoxVirtualMachine | None:
    """That of this very machine. After a move to another management cluster its uid is another one, but then its
    VMID is in its spec already; a new machine of an old name has none there."""
    vmid = machine.spec.virtual_machine_id
    own = [
        each
        for each in cache.by(PROXMOX_VIRTUAL_MACHINES, BY_MACHINE, machine.metadata.uid)
        if each.spec.vmid == vmid or not is_left(each)
    ]
    if own:
        return own[0]
    named = cache.by(PROXMOX_VIRTUAL_MACHINES, BY_MACHINE, f"{machine.metadata.namespace}/{machine.metadata.name}")
    return next((each for each in named if vmid is not None and each.spec.vmid == vmid), None)


def _cluster(machine: ProxmoxMachine) -> tuple[str, ...]:
    return (f"{machine.metadata.namespace}/{machine.metadata.labels.get(labels.CLUSTER_NAME, '')}",)
