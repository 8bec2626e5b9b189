"""A machine's configuration and state as PVE has them, whose values come as text or numbers without a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.infrastructure.proxmox.client import property_string
from nagaya.infrastructure.proxmox.client.property_string import PropertyString
from nagaya.infrastructure.proxmox.client.rows import split_tags

_DISK: Final = re.compile(r"^(?:scsi|virtio|sata|ide)\d+$")
_NETWORK: Final = re.compile(r"^net\d+$")
_UNUSED: Final = re.compile(r"^unused\d+$")


@dataclass(frozen=True, slots=True)
class MachineConfig:
    """All values are text, numbers too. `digest` guards a change against those of others."""

    options: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    def get(self, name: str, default: str = "") -> str:
        """An option's value."""
        return self.options.get(name, default)

    @property
    def tags(self) -> tuple[str, ...]:
        """As PVE keeps them: lower case and sorted."""
        return split_tags(self.get("tags"))

    @property
    def template(self) -> bool:
        """Whether it is a template."""
        return self.get("template") == "1"

    @property
    def uuid(self) -> str:
        """That of the SMBIOS, which the guest sees too."""
        return self.properties("smbios1").get("uuid")

    def properties(self, name: str) -> PropertyString:
        """An option that is a property string."""
        return property_string.parse(self.get(name))

    @property
    def disks(self) -> dict[str, PropertyString]:
        """The drives, CD-ROMs included; the volume is what leads."""
        return self._matching(_DISK)

    @property
    def networks(self) -> dict[str, PropertyString]:
        """The network devices; the model is the key whose value is the MAC address."""
        return self._matching(_NETWORK)

    @property
    def unused(self) -> dict[str, str]:
        """Volumes that were detached and are still there."""
        return {name: text for name, text in self.options.items() if _UNUSED.match(name)}

    def _matching(self, pattern: re.Pattern[str]) -> dict[str, PropertyString]:
        return {name: property_string.parse(text) for name, text in self.options.items() if pattern.match(name)}


@dataclass(frozen=True, slots=True)
class PendingChange:
    """An option of which the running machine has another value than the next start will."""

    name: str
    value: str | None
    pending: str | None
    """None: it will be deleted, or nothing changes."""
    delete: bool = False


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """What a host says of a machine at this moment."""

    running: bool
    qmp_status: str = ""
    """Finer: running, paused, prelaunch, io-error, ..."""
    name: str = ""
    lock: str = ""
    template: bool = False
    agent: bool = False
    """Whether the agent is configured: nothing is said on whether it runs."""
    uptime: int = 0
    ha_managed: bool = False
    ha_state: str = ""


def config(data: Mapping[str, Any]) -> MachineConfig:
    """From an answer of .../config."""
    options = {name: str(value) for name, value in data.items() if name != "digest" and value is not None}
    return MachineConfig(options, str(data.get("digest", "")))


def status(data: Mapping[str, Any]) -> MachineStatus:
    """From an answer of .../status/current."""
    ha = data.get("ha") or {}
    return MachineStatus(
        data.get("status") == "running",
        str(data.get("qmpstatus") or ""),
        str(data.get("name") or ""),
        str(data.get("lock") or ""),
        bool(int(data.get("template") or 0)),
        bool(int(data.get("agent") or 0)),
        int(data.get("uptime") or 0),
        bool(int(ha.get("managed") or 0)),
        str(ha.get("state") or ""),
    )


def pending(rows: Iterable[Mapping[str, Any]]) -> tuple[PendingChange, ...]:
    """The changes in an answer of .../pending; options that stay as they are, are left out."""
    return tuple(
        PendingChange(
            str(row["key"]), _optional(row.get("value")), _optional(row.get("pending")), bool(row.get("delete"))
        )
        for row in rows
        if "pending" in row or row.get("delete")
    )


def _optional(value: object) -> str | None:
    return None if value is None else str(value)
