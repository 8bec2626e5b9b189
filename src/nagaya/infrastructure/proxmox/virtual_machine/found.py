"""What there is under a VMID, found by a fresh look: our VM, another one, nothing, or no way to know.

"Nothing" is said only when Proxmox VE itself says that the id is free, hosts that are off included: a row that is
missing from a list proves nothing, as the list leaves out what the credentials may not see, and a 404-like answer of
one host only says that the VM is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot
from nagaya.infrastructure.proxmox.client.errors import Forbidden, HostUnreachable, NotFound
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.virtual_machine import marker
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker

UNFINISHED_LOCKS: Final = ("clone", "create")
_TEMPORARY: Final = "qmclone temporary file"
"""The description of a clone until it is done."""
_MANAGED: Final = "managed"


class Standing(Enum):
    """What this management API knows of the machine that the VM is for."""

    LIVE = "live"
    """Its ProxmoxMachine is there."""
    DELETED = "deleted"
    """Its ProxmoxMachine was deleted here."""
    VANISHED = "vanished"
    """Its ProxmoxMachine is gone, and nobody here has seen why: it may be at another management API."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The VM that is meant. All of it must be so before anything of it is destroyed."""

    vmid: int
    name: str
    uid: str
    pool: str = ""
    uuid: str = ""
    """The UUID of the VM, as the provider ID of its machine has it; empty if it has none."""
    since: datetime | None = None
    """When the VMID was reserved for it: disks of the VMID that are older were another VM's."""
    machine: str = ""
    """Namespace and name of the ProxmoxMachine."""
    plane: str = ""
    """This management API."""
    claim: str = ""
    """What proves that the VM may be taken over from another management API."""
    standing: Standing = Standing.LIVE
    needs_marker: bool = False
    """Whether a VM without a marker is not meant, although its UUID and name are right."""
    needs_uuid: bool = False
    """Whether the uid proves nothing without the UUID: it is that of an earlier machine of the same name."""


@dataclass(frozen=True, slots=True)
class Strays:
    """What is known of the CD image with the boot data on hosts that a VM has left, or had been on when it went."""

    images: tuple[tuple[str, str], ...] = ()
    """Host and volume."""
    unseen: tuple[tuple[str, str], ...] = ()
    """Host, and a clause that says why nobody can look there now."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Those that have the image, or may have it."""
        return tuple(dict.fromkeys(host for host, _ in (*self.images, *self.unseen)))

    @property
    def warning(self) -> str:
        """What is to be said of those where nobody can look."""
        where = ", ".join(host for host, _ in self.unseen)
        why = "; ".join(why for _, why in self.unseen)
        return f"The CD image with its boot data may still be on {where} ({why}): it is removed when that is over."


NO_STRAYS: Final = Strays()


class Presence(Enum):
    """What is under the VMID."""

    ABSENT = "absent"
    OURS = "ours"
    BEING_MADE = "being made"
    """A clone that has not ended: it has no marker yet, or is still locked. One that was killed stays so, also when
    somebody has unlocked it: whose it is, nothing in it says."""
    FOREIGN = "foreign"
    UNREACHABLE = "unreachable"
    """Its host does not answer."""
    HIDDEN = "hidden"
    """The id is taken, and by what cannot be seen now: it moves, is just made or unmade, or rights are missing."""


@dataclass(frozen=True, slots=True)
class Found:
    """A VMID at a moment."""

    presence: Presence
    node: str = ""
    config: MachineConfig = field(default_factory=MachineConfig)
    running: bool = False
    state: str = ""
    """As QEMU has it: running, paused, io-error, ..."""
    lock: str = ""
    pool: str = ""
    why: str = ""
    """What is to be said of it, where that is not plain."""
    stranger: str = ""
    """For a VM with our marker: what of it is not as it should be, so that it may not be destroyed."""
    uptime: int = 0
    """Seconds since it was turned on."""
    ha_state: str = ""
    """What the HA manager says of it; empty if it does not look after it."""

    host_off: bool = False
    """Whether its host is off, as the cluster says; else one that does not answer may be well."""
    forbidden: bool = False
    """Whether the credentials may not see it."""
    strays: Strays | None = None
    """Its boot data on other hosts; None if nobody has looked."""
    unmarked: bool = False
    """Whether the marker has to be written before anything else is done with the VM."""

    @property
    def managed(self) -> bool:
        """Whether the HA manager turns it on and off."""
        return bool(self.ha_state) and self.ha_state != "ignored"


async def find(proxmox: Proxmox, identity: Identity, last_node: str = "") -> Found:
    """Look. Raises ProxmoxError if nothing can be asked at all."""
    snapshot = await proxmox.inventory.get(0)
    vmid = identity.vmid
    row = snapshot.machines.get(vmid)
    if vmid in snapshot.containers:
        container = snapshot.containers[vmid]
        return Found(Presence.FOREIGN, container.node, why=f"VMID {vmid} is a container on {container.node}.")
    if row is None and await proxmox.cluster.is_free(vmid):
        return Found(Presence.ABSENT, last_node)
    node = row.node if row is not None else last_node
    if not node:
        why = f"VMID {vmid} is taken, and the credentials may not see by what (VM.Audit)."
        return Found(Presence.HIDDEN, why=why, forbidden=True)
    ha_state = row.ha_state if row is not None else ""
    if (off := _off(proxmox, snapshot, node)) is not None:
        return Found(Presence.UNREACHABLE, node, why=off, ha_state=ha_state, host_off=True)
    try:
        # As it is: what waits for the next start, or could not be done, has not happened.
        config = await proxmox.machines.config(node, vmid, current=True)
        status = await proxmox.machines.status(node, vmid)
    except NotFound:
        if await proxmox.cluster.is_free(vmid):
            return Found(Presence.ABSENT, node)
        return Found(Presence.HIDDEN, node, why=f"VM {vmid} is not on {node} any more, and not seen elsewhere yet.")
    except HostUnreachable as error:
        return Found(Presence.UNREACHABLE, node, why=f"{error.why}.", ha_state=ha_state)
    except Forbidden as error:
        # Of a VM that was just destroyed the pool goes first, and with it the right to see that it is gone.
        if await proxmox.cluster.is_free(vmid):
            return Found(Presence.ABSENT, node)
        return Found(Presence.HIDDEN, node, why=f"VM {vmid} on {node} may not be read: {error}", forbidden=True)
    known = marker.read(config.get("description"))
    made = _judged(identity, config, known)
    pool = row.pool if row is not None else ""
    return Found(
        made,
        node,
        config,
        status.running,
        status.qmp_status,
        config.get("lock"),
        pool,
        _foreign(identity, config, known, node) if made is Presence.FOREIGN else "",
        _strange(identity, config, known, pool) if made is Presence.OURS else "",
        status.uptime,
        # Whether it is managed is fresh; how it is, is what the list says.
        (status.ha_state or ha_state or _MANAGED) if status.ha_managed else "",
        unmarked=made is Presence.OURS and not _is_named(identity, known),
    )


def _off(proxmox: Proxmox, snapshot: Snapshot, node: str) -> str | None:
    host = snapshot.hosts.get(node)
    if host is not None and not host.online:
        breaker = proxmox.hosts.breakers.get(node)
        dead = breaker.dead if breaker is not None else None
        return f"Host {node} is off{f' since {dead.since:%Y-%m-%d %H:%M:%S} UTC' if dead is not None else ''}."
    return None


def is_unfinished(config: MachineConfig) -> bool:
    """Whether it is a clone, or a new VM, that has not ended. One that was killed stays so."""
    return config.get("lock") in UNFINISHED_LOCKS or config.get("description").strip() == _TEMPORARY


def _judged(identity: Identity, config: MachineConfig, known: Marker | None) -> Presence:
    ours = _is_marked(identity, config, known) or _is_due(identity, config, known)
    if is_unfinished(config) and (ours or (known is None and not identity.uuid)):
        return Presence.BEING_MADE
    return Presence.OURS if ours else Presence.FOREIGN


def _is_same(identity: Identity, config: MachineConfig) -> bool:
    """Whether it is the very VM that the provider ID of the machine names."""
    known = bool(identity.uuid) and config.uuid.lower() == identity.uuid.lower()
    return known and config.get("name") == identity.name


def _is_named(identity: Identity, known: Marker | None) -> bool:
    """Whether the marker names this management API and this machine."""
    return known is not None and (known.uid, known.plane) == (identity.uid, identity.plane)


def _is_marked(identity: Identity, config: MachineConfig, known: Marker | None) -> bool:
    """Whether the marker alone proves that the VM is that of the machine."""
    return _is_named(identity, known) and (not identity.needs_uuid or _is_same(identity, config))


def _is_due(identity: Identity, config: MachineConfig, known: Marker | None) -> bool:
    """Whether the VM is proven to be that of the machine although its marker does not say so yet."""
    if known is None:
        return not identity.needs_marker and _is_same(identity, config)
    if known.leaving:
        return False
    if marker.proves(identity.claim, known):
        return True
    if not known.uid:
        return known.machine == identity.machine and _is_same(identity, config)
    # An earlier version wrote it. Where the machine has vanished, `stranger` keeps the VM from harm.
    proven = not identity.needs_uuid or _is_same(identity, config)
    return not known.plane and known.uid == identity.uid and proven


def _foreign(identity: Identity, config: MachineConfig, known: Marker | None, node: str) -> str:
    name, vm = config.get("name") or "no name", f"VMID {identity.vmid} on {node}"
    if known is not None and known.plane not in ("", identity.plane):
        destroyed = ", which is about to destroy it" if known.leaving else ""
        return (
            f"{vm} belongs to another management API ({known.plane}){destroyed}, for machine {known.machine} ({name}): "
            "it is not touched here."
        )
    whose = f"the VM of machine {known.machine}" if known is not None else "a VM that Nagaya did not make"
    hint = ""
    if _is_same(identity, config):
        line = marker.Marker(identity.machine, "").line()
        hint = f" If it is the VM of this machine, write `{line}` as the last line of its notes in Proxmox VE."
    return f"{vm} is {whose} ({name}), not that of {identity.name}. It is not touched.{hint}"


def _strange(identity: Identity, config: MachineConfig, known: Marker | None, pool: str) -> str:
    wrong: list[str] = []
    if identity.standing is Standing.VANISHED and known is not None and known.plane != identity.plane:
        wrong.append("an earlier version wrote its marker, so another management API may have it by now")
    if config.get("name") != identity.name:
        wrong.append(f"it is called {config.get('name') or 'nothing'} and not {identity.name}")
    if identity.pool and pool != identity.pool:
        seen = f"pool {pool}" if pool else f"no pool that can be seen (which takes Pool.Audit on /pool/{identity.pool})"
        wrong.append(f"it is in {seen} and not in pool {identity.pool}")
    if config.template:
        wrong.append("it was made a template")
    return "; ".join(wrong)
