"""Guests that are waited for, and what is said when one takes longer than it should (CAPMOX #291, #506). Pure.

From the moment that a VM was turned on its guest has `timeouts.bootSeconds` to bring up the agent, to end cloud-init
and to become a Node. After that the condition says so with what is known: what the agent says, or that nobody answers,
and what cloud-init says of itself. Nothing is given up: the guest is asked on, and goes on whenever it gets there.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from nagaya.api.contract.bootstrap import SENTINEL
from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.api.proxmox.life import DEFAULT_BOOT_SECONDS, DEFAULT_CLONE_SECONDS, DEFAULT_START_SECONDS
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.infrastructure.proxmox.machine.evidence import OUTPUT
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import Plan, Said
from nagaya.infrastructure.proxmox.virtual_machine.found import Found

GUEST_AGAIN: Final = 5.0
"""Seconds until the guest agent is asked again: nothing tells when it is up."""
LATE_AGAIN: Final = 60.0
"""The same for a guest that is late: whoever reads what it says does not read faster."""


def boot_limit(machine: ProxmoxMachine) -> int:
    """Seconds that a guest has from being turned on."""
    timeouts = machine.spec.timeouts
    return (timeouts.boot_seconds if timeouts is not None else None) or DEFAULT_BOOT_SECONDS


def start_limit(machine: ProxmoxMachine) -> int:
    """Seconds that a start may take."""
    timeouts = machine.spec.timeouts
    return (timeouts.start_seconds if timeouts is not None else None) or DEFAULT_START_SECONDS


def clone_is_late(seen: Seen) -> bool:
    """Whether a clone has taken longer than it may."""
    reservation, timeouts = seen.objects.reservation, seen.machine.spec.timeouts
    limit = timeouts.clone_seconds if timeouts is not None else None
    begun = reservation.metadata.creation_timestamp if reservation is not None else None
    return begun is not None and seen.now - begun > timedelta(seconds=limit or DEFAULT_CLONE_SECONDS)


def is_late(machine: ProxmoxMachine, found: Found) -> bool:
    """Whether a guest has run for longer than it should need."""
    return found.running and found.uptime > boot_limit(machine)


def for_agent(seen: Seen, found: Found, told: Plan) -> Plan:
    """Nobody answers in the guest yet."""
    guest = seen.guest
    said = f": {guest.why}" if guest is not None and guest.why else "."
    if not is_late(seen.machine, found):
        why = f"The VM runs on {found.node}; waiting for its guest agent{said}"
        return replace(told, made=Said(False, Reason.WAITING_FOR_GUEST_AGENT, why), again_after=_again(seen))
    why = (
        f"{ran(seen, found)}, and its guest agent does not answer{said} Look at its "
        f"console (`qm terminal {seen.objects.vmid}` on the host, or the web interface): does it start at all, is "
        "qemu-guest-agent in the template and enabled? A guest that has none needs checks.skipQemuGuestAgent. It is "
        "asked on."
    )
    return replace(told, made=Said(False, Reason.WAITING_FOR_GUEST_AGENT, why), again_after=LATE_AGAIN)


def _again(seen: Seen) -> float:
    """Counted from when the guest was asked, not from when it was known to be silent, which takes a while."""
    return seen.guest.again if seen.guest is not None and seen.guest.again else GUEST_AGAIN


def for_cloud_init(seen: Seen, found: Found, told: Plan) -> Plan:
    """cloud-init has not ended in the guest."""
    evidence = seen.guest.evidence if seen.guest is not None else ""
    if not is_late(seen.machine, found):
        why = "cloud-init is at work in the guest."
        return replace(told, made=Said(False, Reason.WAITING_FOR_CLOUD_INIT, why), again_after=_again(seen))
    why = (
        f"{ran(seen, found)}, and cloud-init has not ended in it. {evidence} A guest "
        "without cloud-init needs checks.skipCloudInitStatus. It is asked on."
    )
    said = Said(False, Reason.WAITING_FOR_CLOUD_INIT, " ".join(why.split()))
    return replace(told, made=said, again_after=LATE_AGAIN)


def for_address(seen: Seen, found: Found, told: Plan) -> Plan:
    """The guest is up, and its agent tells of no address."""
    reason = Reason.WAITING_FOR_CLUSTER_API_MACHINE_ADDRESSES
    if not is_late(seen.machine, found):
        why = "The guest has no address yet: waiting for DHCP."
        return replace(told, made=Said(False, reason, why), again_after=GUEST_AGAIN)
    why = (
        f"{ran(seen, found)}, and its guest agent tells of no address. Is there a DHCP server on the network of its "
        "bridge, in its VLAN? If there is none, give machines addresses of a pool: ipv4Config of the ProxmoxCluster. "
        "It is asked on."
    )
    return replace(told, made=Said(False, reason, why), again_after=LATE_AGAIN)


def for_node(seen: Seen, found: Found) -> Said | None:
    """What is said of a VM that is made and whose Machine has no Node in all that time, or will have none; None if it
    is in time."""
    owner, guest = seen.objects.owner, seen.guest
    if owner is None or owner.status.node_ref is not None:
        return None
    if guest is not None and guest.gave_up:
        why = (
            f"cloud-init has ended in the guest, and {SENTINEL} is not there: unless the guest was restarted since, "
            f"kubeadm or a command before it has failed. {guest.evidence} See {OUTPUT} there. A guest does this once: "
            "when the cause is gone, delete the Machine, and what made it makes another."
        )
        return Said(False, Reason.CLOUD_INIT_FAILED, " ".join(why.split()))
    if not is_late(seen.machine, found):
        return None
    known = "" if guest is None else guest.evidence or f"The guest agent does not answer: {guest.why}"
    why = (
        f"{ran(seen, found)}, and its Machine has no Node. {known} Can the guest "
        "reach the address of the control plane?"
    )
    return Said(None, Reason.WAITING_FOR_BOOTSTRAP_READY, " ".join(why.split()))


def ran(seen: Seen, found: Found) -> str:
    """How long a guest has run. Not how long it is by now: what is said changes only when there is something new."""
    seconds = boot_limit(seen.machine)
    limit = f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"
    return f"The VM has run for more than {limit} on {found.node}"
