"""What a machine tells of itself, one function per condition. Pure."""

from __future__ import annotations

from datetime import datetime
from ipaddress import ip_address
from typing import Final

import msgspec

from nagaya.api.cluster.machine_status import MachineAddress
from nagaya.api.cluster.pause import NOT_PAUSED, PAUSED
from nagaya.api.meta import Condition
from nagaya.api.proxmox.conditions import ProxmoxMachineCondition as Type
from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.api.proxmox.deprecated import Initialization
from nagaya.api.proxmox.network import NetworkStatus
from nagaya.api.proxmox.proxmox_machine import (
    VM_NOT_FOUND,
    VM_PENDING,
    VM_READY,
    DeviceAddresses,
    ProxmoxMachine,
    ProxmoxMachineStatus,
)
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.hardware import mac_of
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import Plan, Said
from nagaya.infrastructure.proxmox.virtual_machine.found import Presence
from nagaya.kube.conditions import condition, set_condition
from nagaya.kube.status_change import News

CONDITIONS: Final = tuple(Type)
FIELDS: Final = (
    "initialization.provisioned",
    "addresses",
    "vmStatus",
    "bootstrapDataProvided",
    "ipAddresses",
    "network",
    "proxmoxNode",
    "taskRef",
    "retryAfter",
    "failureDomain",
    "observedGeneration",
)
NEWS: Final = News(
    ("initialization.provisioned", "taskRef", "retryAfter", "bootstrapDataProvided", "proxmoxNode"),
    turns=("observedGeneration",),
    conditions=CONDITIONS,
)
"""What others act on, and what must survive this process."""


def status(seen: Seen, machine: ProxmoxMachine, plan: Plan, task: str = "") -> ProxmoxMachineStatus:
    """The status for which a plan has been carried out. `task` is what it has begun."""
    before = machine.status
    provisioned = True if plan.provisioned else before.initialization.provisioned
    told = msgspec.structs.replace(
        before,
        initialization=Initialization(provisioned=provisioned),
        addresses=_addresses(plan) or before.addresses,
        vm_status=_vm_status(seen, plan),
        bootstrap_data_provided=True if plan.has_boot_data else before.bootstrap_data_provided,
        ip_addresses=before.ip_addresses if plan.device_addresses is None else _by_device(plan),
        network=before.network if plan.device_addresses is None else _networks(seen, plan),
        proxmox_node=plan.node or before.proxmox_node,
        task_ref=task or ("" if plan.clear_task else before.task_ref),
        retry_after=before.retry_after if plan.keep else plan.retry_after,
        failure_domain=_failure_domain(seen, plan.node or before.proxmox_node),
        observed_generation=machine.metadata.generation or None,
    )
    wanted = [paused("")]
    if not plan.keep:
        wanted += [provisioned_condition(plan), healthy(plan), deleting(machine, plan), ready(seen, machine, plan)]
    return _set(machine, told, seen.now, *wanted)


def paused_status(machine: ProxmoxMachine, why: str, now: datetime) -> ProxmoxMachineStatus:
    """The status of a machine that is left alone: as it was, and why nothing happens."""
    return _set(machine, machine.status, now, paused(why))


def provisioned_condition(plan: Plan) -> Condition:
    """How far the VM is."""
    return _said(Type.VIRTUAL_MACHINE_PROVISIONED, plan.made)


def healthy(plan: Plan) -> Condition:
    """Whether the VM runs."""
    return _said(Type.VIRTUAL_MACHINE_HEALTHY, plan.healthy)


def deleting(machine: ProxmoxMachine, plan: Plan) -> Condition:
    """Whether the machine goes away."""
    if plan.deleting is None or not machine.metadata.deleting:
        return condition(Type.DELETING, False, Reason.NOT_DELETING)
    return _said(Type.DELETING, plan.deleting)


def ready(seen: Seen, machine: ProxmoxMachine, plan: Plan) -> Condition:
    """Whether the machine is of use: made, and not known to be ill. Nobody knows of one whose host is off. That it
    cannot be asked how the VM is makes nothing unready: its Node tells whether it is alive, and machines that are not
    ready are the first that a rollout removes."""
    if machine.metadata.deleting:
        return condition(Type.READY, False, Reason.DELETING, plan.deleting.message if plan.deleting else "")
    for said in (plan.made, plan.healthy):
        if said.holds is False:
            return condition(Type.READY, False, said.reason, said.message)
    if seen.found is not None and seen.found.host_off:
        return condition(Type.READY, "Unknown", plan.healthy.reason, plan.healthy.message)
    return condition(Type.READY, True, Reason.READY)


def paused(why: str) -> Condition:
    """Whether the machine is left alone."""
    return condition(Type.PAUSED, bool(why), PAUSED if why else NOT_PAUSED, why)


def _vm_status(seen: Seen, plan: Plan) -> str:
    if plan.provisioned and plan.healthy.holds is not False:
        return VM_READY
    if seen.found is None or seen.found.presence is Presence.ABSENT:
        return VM_NOT_FOUND
    return VM_PENDING


def _addresses(plan: Plan) -> tuple[MachineAddress, ...]:
    return tuple(MachineAddress(type=kind, address=address) for kind, address in plan.addresses)


def _by_device(plan: Plan) -> tuple[DeviceAddresses, ...]:
    return tuple(
        DeviceAddresses(
            net=device,
            ipv4=tuple(each for each in addresses if ip_address(each).version == 4),
            ipv6=tuple(each for each in addresses if ip_address(each).version == 6),
        )
        for device, addresses in sorted((plan.device_addresses or {}).items())
    )


def _networks(seen: Seen, plan: Plan) -> tuple[NetworkStatus, ...]:
    config, known = seen.found.config if seen.found is not None else MachineConfig(), plan.device_addresses or {}
    return tuple(
        NetworkStatus(
            connected=device.get("link_down") != "1",
            ip_addrs=known.get(name, ()),
            mac_addr=mac_of(config, name),
            network_name=name,
        )
        for name, device in sorted(config.networks.items())
    )


def _failure_domain(seen: Seen, node: str) -> str:
    infrastructure = seen.objects.infrastructure
    if infrastructure is None:
        return seen.machine.status.failure_domain
    for domain in infrastructure.spec.failure_domains:
        if node in domain.hosts:
            return domain.name
    return ""


def _said(type: Type, said: Said) -> Condition:
    return condition(type, "Unknown" if said.holds is None else said.holds, said.reason, said.message)


def _set(
    machine: ProxmoxMachine, status: ProxmoxMachineStatus, now: datetime, *wanted: Condition
) -> ProxmoxMachineStatus:
    conditions = status.conditions
    for each in wanted:
        conditions = set_condition(conditions, each, now=now, generation=machine.metadata.generation)
    return msgspec.structs.replace(status, conditions=conditions)
