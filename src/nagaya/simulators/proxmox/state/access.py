"""Users, tokens, roles and access control lists, as /etc/pve/user.cfg has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Token:
    """An API token. Its secret is known to nobody but its holder, and to the emulator."""

    secret: str
    privilege_separation: bool = True
    expire: int = 0
    comment: str = ""


@dataclass(slots=True)
class User:
    """Somebody of a realm; `password` only for those of the realm `pve` (and root@pam, whom PAM knows)."""

    enable: bool = True
    expire: int | None = 0
    """Seconds since 1970, 0 for never; None when nothing is written down of root@pam."""
    firstname: str = ""
    lastname: str = ""
    email: str = ""
    comment: str = ""
    keys: str = ""
    password: str | None = None
    groups: set[str] = field(default_factory=set)
    tokens: dict[str, Token] = field(default_factory=dict)


@dataclass(slots=True)
class Group:
    """Users that get rights together."""

    comment: str = ""


def realms() -> dict[str, dict[str, Any]]:
    """Those that every PVE has."""
    return {
        "pam": {"type": "pam", "comment": "Linux PAM standard authentication"},
        "pve": {"type": "pve", "comment": "Proxmox VE authentication server"},
    }


@dataclass(slots=True)
class Access:
    """Who there is and what they may do."""

    users: dict[str, User] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    roles: dict[str, frozenset[str]] = field(default_factory=dict)
    """Roles that users made; those that PVE brings are not here."""
    acl: dict[tuple[str, str, str, str], bool] = field(default_factory=dict)
    """(path, kind, id, role) -> propagate; kind is user, group or token."""
    realms: dict[str, dict[str, Any]] = field(default_factory=realms)

    def folders(self) -> Iterator[str]:
        """The paths that have entries, and those on the way to them: PVE keeps all of them as a tree."""
        seen = {"/"}
        for path, _, _, _ in self.acl:
            parts = path.split("/")
            for end in range(2, len(parts) + 1):
                step = "/".join(parts[:end])
                if step not in seen and step != "/":
                    seen.add(step)
                    yield step

    def forget(self, id: str, *, kind: str | None = None) -> None:
        """Drop the entries of a user, token or group that is gone."""
        for entry in [entry for entry in self.acl if entry[2] == id and (entry[1] == "group") == (kind == "group")]:
            del self.acl[entry]

    def forget_role(self, role: str) -> None:
        """Drop the entries that gave a role that is gone."""
        for entry in [entry for entry in self.acl if entry[3] == role]:
            del self.acl[entry]

    def forget_path(self, path: str) -> None:
        """Drop the entries on something that is gone, and below it."""
        for entry in [entry for entry in self.acl if entry[0] == path or entry[0].startswith(path + "/")]:
            del self.acl[entry]
