"""What a data center says of itself and of the credentials, when it is asked at the beginning and then every hour."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot, Token
from nagaya.infrastructure.proxmox.client.calls import path_of
from nagaya.infrastructure.proxmox.client.cluster import Version
from nagaya.infrastructure.proxmox.client.errors import NotImplemented
from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.preflight import Preflight, preflight
from nagaya.infrastructure.proxmox.privileges.refusal import Refusal

OLDEST: Final = (8, 0)
"""The oldest Proxmox VE that is supported."""
_ROOT: Final = "pve-root-ca.pem"
_LONGEST: Final = 40
_DIGITS: Final = 10
_OTHER: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found."""

    version: Version
    datacenter: str
    """Which Proxmox VE it is; empty if the credentials may not see enough to tell."""
    held: Held
    subject: str
    """The credentials: user@realm, or user@realm!token."""
    moment: float
    """When it was found, on the clock that never goes back."""
    refusals: tuple[Refusal, ...] = ()
    """Those of before that would be refused again."""
    _judged: dict[Scope, Preflight] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was made of them: they do not change, and each reconcile asks. As many as connections share a client."""

    def preflight(self, scope: Scope) -> Preflight:
        """What the credentials are good for where somebody works with that."""
        found = self._judged.get(scope)
        if found is None:
            found = self._judged[scope] = preflight(self.held, scope, self.version.release, self.subject)
        return found


async def find(proxmox: Proxmox, refused: Collection[Refusal] = ()) -> Findings:
    """Ask for all of it, and for what was `refused` whether it still would be. Raises ProxmoxError."""
    moment = proxmox.calls.world.clock.monotonic()
    subject = _subject(proxmox)
    version = await proxmox.cluster.version()
    held = Held(await proxmox.access.permissions())
    snapshot = await proxmox.inventory.get()
    at = {path: Held(await proxmox.access.permissions(path)) for path in sorted({each.path for each in refused})}
    still = tuple(each for each in refused if not any(at[each.path].holds(each.path, name) for name in each.privileges))
    return Findings(version, await datacenter(proxmox, snapshot), held, subject, moment, still)


async def datacenter(proxmox: Proxmox, snapshot: Snapshot) -> str:
    """The name of the cluster, or of a host that is alone, and by what authority its certificates are signed: that is
    made when PVE is installed, and the same on all hosts, whatever address they are reached at."""
    if snapshot.quorate is None:
        return ""
    name = snapshot.cluster or min(snapshot.hosts, default="")
    if not name or not any(host.online for host in snapshot.hosts.values()):
        return ""
    return datacenter_id(name, str((await authority(proxmox, snapshot)).get("fingerprint") or ""))


async def authority(proxmox: Proxmox, snapshot: Snapshot) -> Mapping[str, Any]:
    """What PVE tells of the authority that signs the certificates of its hosts: fingerprint, pem and so on. Nothing if
    this PVE does not tell."""
    online = [host for host in snapshot.hosts.values() if host.online]
    if not online:
        return {}
    asked = next((host for host in online if host.local), online[0])
    try:
        rows = await proxmox.calls.rows(path_of("nodes", asked.name, "certificates", "info"))
    except NotImplemented:
        return {}
    return next((row for row in rows if row.get("filename") == _ROOT), {})


def datacenter_id(name: str, fingerprint: str) -> str:
    """How a data center is called in names of objects."""
    short = _OTHER.sub("-", name.lower()).strip("-")[:_LONGEST].rstrip("-") or "pve"
    digits = fingerprint.replace(":", "").lower()[:_DIGITS]
    return f"{short}-{digits}" if digits else short


def _subject(proxmox: Proxmox) -> str:
    credentials = proxmox.facts.credentials
    return credentials.id if isinstance(credentials, Token) else credentials.user
