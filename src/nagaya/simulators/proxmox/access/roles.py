"""The privileges that PVE knows, and the roles it brings.

PVE sorts its privileges by what they concern and by who should have them, and makes its roles from that: for each
concern one for administrators and one for users, besides those that span all concerns. 9.2 split up what may be done
through the guest agent (8.4 has one privilege for all of it) and asks for one more to replicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

_ROOT, _ADMIN, _USER, _AUDIT = range(4)

_MACHINES_9 = (
    "",
    (
        "VM.Allocate VM.Clone VM.Config.CPU VM.Config.Disk VM.Config.HWType VM.Config.Memory VM.Config.Network "
        "VM.Config.Options VM.GuestAgent.Unrestricted VM.Migrate VM.Replicate VM.Snapshot VM.Snapshot.Rollback"
    ),
    (
        "VM.Backup VM.Config.CDROM VM.Config.Cloudinit VM.Console VM.GuestAgent.FileRead VM.GuestAgent.FileSystemMgmt "
        "VM.GuestAgent.FileWrite VM.PowerMgmt"
    ),
    "VM.Audit VM.GuestAgent.Audit",
)
_MACHINES_8 = (
    "",
    (
        "VM.Allocate VM.Clone VM.Config.CPU VM.Config.Disk VM.Config.HWType VM.Config.Memory VM.Config.Network "
        "VM.Config.Options VM.Migrate VM.Monitor VM.Snapshot VM.Snapshot.Rollback"
    ),
    "VM.Backup VM.Config.CDROM VM.Config.Cloudinit VM.Console VM.PowerMgmt",
    "VM.Audit",
)
_OTHERS = {
    "Sys": (
        "Permissions.Modify Sys.AccessNetwork Sys.Incoming Sys.Modify Sys.PowerMgmt",
        "Sys.Console Sys.Syslog",
        "",
        "Sys.Audit",
    ),
    "Datastore": (
        "",
        "Datastore.Allocate Datastore.AllocateTemplate",
        "Datastore.AllocateSpace",
        "Datastore.Audit",
    ),
    "SDN": ("", "SDN.Allocate", "SDN.Use", "SDN.Audit"),
    "User": ("Realm.Allocate", "Group.Allocate Realm.AllocateUser User.Modify", "", ""),
    "Pool": ("", "Pool.Allocate", "Pool.Audit", "Pool.Audit"),
    "Mapping": ("", "Mapping.Modify", "Mapping.Use", "Mapping.Audit"),
}
_KEPT_FROM_ADMINISTRATORS = frozenset({"Mapping.Modify"})
"""Not even in the role for administrators of everything, as it opens the hardware of hosts."""


def _concerns(version: str) -> dict[str, tuple[frozenset[str], ...]]:
    machines = _MACHINES_8 if version.startswith("8.") else _MACHINES_9
    return {
        concern: tuple(frozenset(part.split()) for part in parts)
        for concern, parts in {"VM": machines, **_OTHERS}.items()
    }


@cache
def privileges(version: str) -> frozenset[str]:
    """All that a version of PVE knows."""
    return frozenset().union(*(part for parts in _concerns(version).values() for part in parts))


@cache
def built_in(version: str) -> Mapping[str, frozenset[str]]:
    """The roles that a version of PVE brings; nobody can change them."""
    roles: dict[str, frozenset[str]] = {
        "NoAccess": frozenset(),
        "Administrator": privileges(version),
        "PVEAdmin": frozenset(),
        "PVEAuditor": frozenset(),
        "PVETemplateUser": frozenset({"VM.Audit", "VM.Clone"}),
    }
    for concern, parts in _concerns(version).items():
        administrator = parts[_ADMIN] | parts[_USER] | parts[_AUDIT]
        roles[f"PVE{concern}Admin"] = administrator
        roles["PVEAdmin"] |= administrator - _KEPT_FROM_ADMINISTRATORS
        if parts[_USER]:
            roles[f"PVE{concern}User"] = parts[_USER] | parts[_AUDIT]
        roles["PVEAuditor"] |= parts[_AUDIT]
    return MappingProxyType(roles)
