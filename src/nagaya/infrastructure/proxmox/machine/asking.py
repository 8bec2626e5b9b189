"""What a guest is asked, by its agent: no more than the next decision depends on, and nothing of one that is well."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from nagaya.api.contract.bootstrap import SENTINEL
from nagaya.api.proxmox.conditions import ProxmoxMachineCondition
from nagaya.foreign_answers import read_json
from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import (
    AgentFailed,
    AgentNotReady,
    Forbidden,
    HostUnreachable,
    ProxmoxError,
    WrongState,
)
from nagaya.infrastructure.proxmox.machine import evidence, handover
from nagaya.infrastructure.proxmox.machine.delivery import is_native
from nagaya.infrastructure.proxmox.machine.seen import Guest, Objects
from nagaya.infrastructure.proxmox.machine.waiting import is_late
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.kube.conditions import get

log = logging.getLogger(__name__)

CLOUD_INIT_RESULT: Final = "/run/cloud-init/result.json"
SEEN_AFTER: Final = timedelta(seconds=45)
"""A Node is there before cloud-init has ended, and is seen within this time."""
UNKNOWN: Final = "unknown"
RUNNING: Final = "running"
DONE: Final = "done"


async def ask(proxmox: Proxmox, objects: Objects, found: Found | None) -> Guest | None:
    """What the guest says; None if it is not asked."""
    machine = objects.machine
    if found is None or found.presence is not Presence.OURS or not found.running:
        return None
    if machine.status.initialization.provisioned:
        return await _why_no_node(proxmox, objects, found)
    gets_data = _gets_data(objects, found)
    checks = machine.spec.checks
    if checks is not None and checks.skip_qemu_guest_agent and not gets_data:
        return None
    node, vmid = found.node, objects.vmid or 0
    try:
        interfaces = await proxmox.agent.interfaces(node, vmid)
        instance = await handover.instance(proxmox, node, vmid) if gets_data else ""
    except (AgentNotReady, AgentFailed, WrongState) as error:
        return Guest(False, f"{error.why}.")
    except Forbidden as error:
        # Without the right to ask, nothing is waited for: the Node tells that the machine is up.
        return Guest(True, str(error), cloud_init=UNKNOWN)
    if checks is not None and checks.skip_cloud_init_status and not gets_data:
        return Guest(True, interfaces=interfaces, cloud_init=UNKNOWN)
    said = await cloud_init(proxmox, node, vmid)
    more = ""
    if said not in (DONE, UNKNOWN, RUNNING) or (said == RUNNING and is_late(machine, found)):
        more = await evidence.gather(proxmox, node, vmid)
    return Guest(True, interfaces=interfaces, cloud_init=said, instance=instance, evidence=more)


def _gets_data(objects: Objects, found: Found) -> bool:
    """Whether its boot data are handed over by the agent, and it is not known to have them."""
    return is_native(found.config) and not objects.has_boot_data


async def cloud_init(proxmox: Proxmox, node: str, vmid: int) -> str:
    """What cloud-init says when it has ended: the file is there only then."""
    try:
        text = await proxmox.agent.read(node, vmid, CLOUD_INIT_RESULT)
    except (AgentNotReady, AgentFailed):
        return RUNNING
    except Forbidden:
        return UNKNOWN
    try:
        errors = read_json(text)["v1"]["errors"]
    except (ValueError, KeyError, TypeError):
        return UNKNOWN
    return "; ".join(str(each) for each in errors) if errors else DONE


async def _why_no_node(proxmox: Proxmox, objects: Objects, found: Found) -> Guest | None:
    """Asked of a machine that is made, only if its Node should have been there long ago, or will not come."""
    owner = objects.owner
    if owner is None or owner.status.node_ref is not None:
        return None
    if not is_late(objects.machine, found):
        if not await _has_given_up(proxmox, objects, found):
            return None
        more = await evidence.gather(proxmox, found.node, objects.vmid or 0)
        return Guest(True, evidence=more, gave_up=True)
    try:
        await proxmox.agent.ping(found.node, objects.vmid or 0)
    except (AgentNotReady, AgentFailed, WrongState) as error:
        return Guest(False, f"{error.why}.")
    except Forbidden as error:
        return Guest(True, str(error), evidence=f"What the guest says cannot be asked: {error.remedy}")
    return Guest(True, evidence=await evidence.gather(proxmox, found.node, objects.vmid or 0))


async def _has_given_up(proxmox: Proxmox, objects: Objects, found: Found) -> bool:
    """Whether cloud-init has ended without what the bootstrap provider had it do: of several commands it tells only
    whether the last one succeeded."""
    machine, owner = objects.machine, objects.owner
    checks = machine.spec.checks
    if owner is None or owner.spec.bootstrap.config_ref is None:
        return False  # data that somebody wrote by hand need not leave that file
    if checks is not None and (checks.skip_qemu_guest_agent or checks.skip_cloud_init_status):
        return False
    made = get(machine.status.conditions, ProxmoxMachineCondition.VIRTUAL_MACHINE_PROVISIONED)
    if made is None or proxmox.calls.world.clock.now() - made.last_transition_time < SEEN_AFTER:
        return False
    node, vmid = found.node, objects.vmid or 0
    if await cloud_init(proxmox, node, vmid) in (RUNNING, UNKNOWN):
        return False
    try:
        await proxmox.agent.read(node, vmid, SENTINEL)
    except AgentFailed:
        return True
    except ProxmoxError as error:
        log.info("VM %s on %s cannot be asked whether it has joined: %s", vmid, node, error)
    return False


async def is_erased(proxmox: Proxmox, objects: Objects, found: Found | None) -> bool | None:
    """Whether boot data that were handed over by the agent are taken out of the guest; None if that is not known."""
    owner = objects.owner
    if found is None or found.presence is not Presence.OURS or not found.running or not is_native(found.config):
        return None
    if not objects.machine.status.initialization.provisioned or owner is None or owner.status.node_ref is None:
        return None
    try:
        return await handover.is_erased(proxmox, found.node, objects.vmid or 0)
    except HostUnreachable:
        raise
    except ProxmoxError as error:
        log.info("VM %s on %s cannot be asked for its boot data: %s", objects.vmid, found.node, error)
        return None
