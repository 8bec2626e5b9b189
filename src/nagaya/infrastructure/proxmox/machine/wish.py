"""A machine's wish for a host, and the world it is wished in, in the words of placement. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeVar

import msgspec

from nagaya.api.cluster import labels
from nagaya.api.cluster.machine import Machine
from nagaya.api.model import Model
from nagaya.api.proxmox.placement import Placement
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_cluster_spec import DEFAULT_MEMORY_PERCENT
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.api.proxmox.template_source import EXACT, TemplateSelector, version_tag
from nagaya.infrastructure.proxmox import placement
from nagaya.infrastructure.proxmox.client import Snapshot
from nagaya.infrastructure.proxmox.client.equipment import Devices
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.client.rows import MachineRow
from nagaya.infrastructure.proxmox.machine.hardware import DEFAULT_DISKS, is_boot_drive, size_of
from nagaya.infrastructure.proxmox.machine.network import devices

T = TypeVar("T", bound=Model)
_MIB: Final = 1024**2
_GIB: Final = 1024**3
CONTROL_PLANE: Final = "control plane"
WORKER: Final = "worker"


@dataclass(frozen=True, slots=True)
class Whose:
    """Of which machine a VMID is."""

    uid: str
    cluster: str
    role: str
    devices: tuple[str, ...] = ()
    """The mappings that its PCI devices are from, one entry for each device."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """What was asked of hosts beyond the list of all resources; only what the machine needs is."""

    bridges: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By host."""
    silent: Mapping[str, str] = field(default_factory=dict)
    """Hosts that were asked and did not tell, and why."""
    mappings: Mapping[str, Devices] = field(default_factory=dict)
    """PCI devices by mapping."""
    taken: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The mappings that devices of VMs are from that are none of ours."""


NO_EQUIPMENT: Final = Equipment()


def role(machine: ProxmoxMachine) -> str:
    """Machines of one role are spread over hosts."""
    return CONTROL_PLANE if labels.CONTROL_PLANE in machine.metadata.labels else WORKER


def cluster_of(machine: ProxmoxMachine) -> str:
    """Namespace and name of the Cluster."""
    return f"{machine.metadata.namespace}/{machine.metadata.labels.get(labels.CLUSTER_NAME, '')}"


def pci_devices(machine: ProxmoxMachine) -> tuple[str, ...]:
    """The mappings of the devices that the machine has for itself alone."""
    return tuple(each.mapping for each in machine.spec.pci_devices if not each.mdev)


def template(
    machine: ProxmoxMachine, owner: Machine | None, default: TemplateSelector | None
) -> placement.TemplateById | placement.TemplateByTags:
    """Which template is meant."""
    spec = machine.spec
    if spec.template_id is not None:
        return placement.TemplateById(spec.template_id, spec.source_node)
    selector = spec.template_selector or default or TemplateSelector()
    tags = {each.lower() for each in selector.match_tags}
    if selector.match_kubernetes_version and owner is not None and owner.spec.version:
        tags.add(version_tag(owner.spec.version))
    return placement.TemplateByTags(frozenset(tags), placement.TagMatch(selector.match_policy or EXACT))


def may_be_meant(wanted: placement.TemplateById | placement.TemplateByTags, row: MachineRow) -> bool:
    """Whether a template comes into question, so that its disks have to be known. By its id a VM can be meant that is
    none: it is copied as it is, or as it was at a snapshot."""
    if isinstance(wanted, placement.TemplateById):
        return row.vmid == wanted.vmid
    return bool(row.template) and wanted.tags <= {each.lower() for each in row.tags}


def wish(
    machine: ProxmoxMachine,
    owner: Machine | None,
    infrastructure: ProxmoxCluster,
    snapshot: Snapshot,
    *,
    storage: str = "",
    selector: TemplateSelector | None = None,
    bridge: str = "",
) -> placement.Wish:
    """What is asked for. What the machine leaves out is as its connection says (`storage`, `selector`, `bridge`), or
    else as in its template."""
    spec = machine.spec
    wanted = template(machine, owner, selector)
    meant = [row for row in snapshot.machines.values() if may_be_meant(wanted, row)]
    like = min(meant, key=lambda row: row.vmid, default=None)
    cpus = (spec.num_sockets or 1) * spec.num_cores if spec.num_cores else int(like.cpus) if like else 0
    memory = spec.memory_mib * _MIB if spec.memory_mib else like.memory if like else 0
    linked = spec.full is False
    disks = spec.disks
    return placement.Wish(
        machine.metadata.uid,
        cpus,
        memory,
        wanted,
        cluster=cluster_of(machine),
        role=role(machine),
        boot_size=disks.boot_volume.size_gb * _GIB if disks is not None and disks.boot_volume is not None else 0,
        disks=tuple(
            placement.Disk(each.size_gb * _GIB, each.storage)
            for each in (disks.additional_volumes if disks is not None else ())
        ),
        linked=linked,
        storage="" if linked else spec.storage or ("" if _placement(machine, infrastructure).storages else storage),
        bridges=bridges(machine, bridge),
        devices=pci_devices(machine),
        mediated=frozenset(each.mapping for each in spec.pci_devices if each.mdev),
        allowed=frozenset(spec.hosts or infrastructure.spec.allowed_nodes),
        denied=frozenset(_placement(machine, infrastructure).denied_nodes),
        failure_domain=(owner.spec.failure_domain if owner is not None else "") or spec.failure_domain,
        rules=_rules(machine, infrastructure),
    )


def bridges(machine: ProxmoxMachine, default: str = "") -> frozenset[str]:
    """The bridges and virtual networks that the machine's host must have."""
    return frozenset(filter(None, (each.bridge or default for each in devices(machine))))


def _placement(machine: ProxmoxMachine, infrastructure: ProxmoxCluster) -> Placement:
    """What the machine says goes before what its cluster says, field by field."""
    own, shared = machine.spec.placement or Placement(), infrastructure.spec.placement or Placement()
    return Placement(
        denied_nodes=own.denied_nodes or shared.denied_nodes,
        spread=own.spread or shared.spread,
        overcommit=_both(own.overcommit, shared.overcommit),
        reserve=_both(own.reserve, shared.reserve),
        storages=own.storages or shared.storages,
    )


def _both(own: T | None, shared: T | None) -> T | None:
    """Of two objects whose fields may all be left out, the first as far as it says something."""
    if own is None or shared is None:
        return own or shared
    said = {name: value for name, value in msgspec.structs.asdict(own).items() if value is not None}
    return msgspec.structs.replace(shared, **said)


def _rules(machine: ProxmoxMachine, infrastructure: ProxmoxCluster) -> placement.Rules:
    given = _placement(machine, infrastructure)
    hints = infrastructure.spec.scheduler_hints
    memory = given.overcommit.memory_percent if given.overcommit is not None else None
    if memory is None:
        memory = hints.memory_adjustment if hints is not None else None
    return placement.Rules(
        memory_percent=DEFAULT_MEMORY_PERCENT if memory is None else memory,
        cpu_percent=(given.overcommit.cpu_percent or 0) if given.overcommit is not None else 0,
        memory_reserve=(given.reserve.memory_mib or 0) * _MIB if given.reserve is not None else 0,
        storage_reserve=(given.reserve.storage_gb or 0) * _GIB if given.reserve is not None else 0,
        spread=placement.Spread(given.spread) if given.spread else placement.Spread.PREFERRED,
        storages=given.storages,
    )


def world(
    snapshot: Snapshot,
    infrastructure: ProxmoxCluster,
    templates: Mapping[int, MachineConfig],
    owned: Mapping[int, Whose],
    equipment: Equipment = NO_EQUIPMENT,
) -> placement.Inventory:
    """The data center as placement sees it. `templates` are the configurations that are known."""
    domains = {
        host: domain.name for domain in infrastructure.spec.failure_domains for host in domain.hosts
    }  # fmt: skip
    nobody = Whose("", "", "")
    return placement.Inventory(
        tuple(
            placement.Host(
                each.name, each.online, each.cpus, each.memory, each.maintenance,
                off_since=_moment(snapshot.off_since.get(each.name)),
                failure_domain=domains.get(each.name, ""),
                bridges=equipment.bridges.get(each.name),
                silent=equipment.silent.get(each.name, ""),
                devices={name: count for name, known in equipment.mappings.items() if (count := known.on(each.name))},
            )
            for each in snapshot.hosts.values()
        ),
        (
            *(
                _guest(row, owned.get(row.vmid, nobody), equipment.taken.get(row.vmid, ()))
                for row in snapshot.machines.values()
            ),
            *(
                placement.Guest(each.vmid, each.node, int(each.cpus), each.memory)
                for each in snapshot.containers.values()
            ),
        ),
        tuple(
            placement.Storage(each.name, each.node, each.free, each.contents, each.shared, each.available)
            for each in snapshot.storages.values()
        ),
        tuple(
            _template(row, templates.get(row.vmid))
            for row in snapshot.machines.values()
            if row.template or row.vmid in templates
        ),
    )  # fmt: skip


def _moment(when: datetime | None) -> str:
    return "" if when is None else f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _guest(row: MachineRow, whose: Whose, taken: tuple[str, ...]) -> placement.Guest:
    return placement.Guest(
        row.vmid,
        row.node,
        int(row.cpus),
        row.memory,
        bool(row.template),
        whose.uid,
        whose.cluster,
        whose.role,
        whose.devices or taken,
    )


def _template(row: MachineRow, config: MachineConfig | None) -> placement.Template:
    tags = frozenset(each.lower() for each in row.tags)
    return placement.Template(
        row.vmid, row.node, _disks(config) if config is not None else (), tags, readable=config is not None
    )


def _disks(config: MachineConfig) -> tuple[placement.TemplateDisk, ...]:
    named: Iterable[str] = sorted(config.disks, key=lambda name: (name not in DEFAULT_DISKS, name))
    made: list[placement.TemplateDisk] = []
    for name in named:
        drive = config.disks[name]
        storage, colon, _ = (drive.leading or drive.get("file")).partition(":")
        if colon and drive.get("media") != "cdrom" and not is_boot_drive(drive):
            made.append(placement.TemplateDisk(size_of(drive.get("size")), storage))
    return tuple(made)
