"""The command for what one call was refused for.

The preflight is content with a right that is held somewhere, as a connection need not name its templates, storages and
bridges. Which of them it is, a call knows that is refused: PVE names the path. A role is granted whole there, since an
entry at a path replaces what is inherited from above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.infrastructure.proxmox.privileges.commands import grant_line, role_line
from nagaya.infrastructure.proxmox.privileges.operations import Release
from nagaya.infrastructure.proxmox.privileges.place import Place
from nagaya.infrastructure.proxmox.privileges.roles import INHERITED, ROLES, privileges
from nagaya.infrastructure.proxmox.privileges.setup import USUAL

_PLACES: Final = (
    ("/vms", (Place.MACHINES, Place.TEMPLATES)),
    ("/pool", (Place.MACHINES, Place.TEMPLATES)),
    ("/storage", (Place.IMAGES, Place.MEDIA)),
    ("/sdn", (Place.NETWORK,)),
    ("/nodes", (Place.HOSTS,)),
    ("/mapping", (Place.DEVICES,)),
    ("/", (Place.CLUSTER,)),
)
"""What may be meant by a path."""
_CLONE: Final = "VM.Clone"
"""Only templates need it, though the role for machines has it, too: for templates that are in the pool of machines."""


def command_for(path: str, missing: Sequence[str], release: Release, subject: str) -> str:
    """What grants one of some privileges at a path to the credentials; empty if no role of ours has any of them."""
    candidates: tuple[Place, ...] = next((places for begin, places in _PLACES if path.startswith(begin)), ())
    for place in reversed(candidates) if _CLONE in missing else candidates:
        held = privileges(place, release, USUAL)
        if any(each in held for each in missing):
            grant = grant_line(path, ROLES[place], subject, propagate=place in INHERITED)
            return f"{role_line(ROLES[place], held)}; {grant}"
    return ""
