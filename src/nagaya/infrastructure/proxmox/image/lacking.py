"""Which rights a plan needs that the credentials do not have: told before anything is begun, not after half of it."""

from __future__ import annotations

from nagaya.infrastructure.proxmox.client import Proxmox, Token
from nagaya.infrastructure.proxmox.image.plan import Plan
from nagaya.infrastructure.proxmox.image.steps import Create
from nagaya.infrastructure.proxmox.image.wanted import Wanted
from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.infrastructure.proxmox.privileges.image import ImageScope, image_missing
from nagaya.infrastructure.proxmox.privileges.missing import Missing


def scope_of(planned: Plan, wanted: Wanted) -> ImageScope:
    """What a plan works with."""
    making = any(isinstance(step, Create) for each in planned.hosts for step in each.steps)
    return ImageScope(
        hosts=tuple(dict.fromkeys(each.host for each in planned.downloads)),
        import_storages=tuple(dict.fromkeys(each.storage.name for each in planned.downloads)),
        storages=(planned.storage,) if making else (),
        pool=wanted.pool,
        bridge=wanted.hardware.bridge,
        enables=planned.enable.storage if planned.enable is not None else "",
    )


def lacking(held: Held, planned: Plan, wanted: Wanted, release: tuple[int, int], subject: str) -> tuple[Missing, ...]:
    """What is missing for a plan."""
    return image_missing(held, scope_of(planned, wanted), release, subject)


def subject_of(proxmox: Proxmox) -> str:
    """The credentials: user@realm, or user@realm!token."""
    credentials = proxmox.facts.credentials
    return credentials.id if isinstance(credentials, Token) else credentials.user
