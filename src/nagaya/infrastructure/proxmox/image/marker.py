"""The marker of an image: the last line of a template's description, from the moment the machine is made.

It names the VMID that it was written for. A machine that somebody clones from the template gets a copy of the
description, and is still no image of ours.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from nagaya.foreign_answers import read_json
from nagaya.infrastructure.proxmox.image.checksum import BadChecksum, checksum
from nagaya.infrastructure.proxmox.image.image import Image

PREFIX: Final = "nagaya-image: "
_TEXTS: Final = ("name", "origin", "checksum", "url", "kubernetes", "made", "pool")
RETIRED: Final = "nagaya-retired"
"""The only tag of a template in whose place another has come: no selector finds it any more."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What a template was made from."""

    vmid: int
    name: str
    origin: str
    checksum: str
    url: str = ""
    kubernetes: str = ""
    made: str = ""
    """When, as a date that can be compared as text."""
    pool: str = ""
    """Where it was put."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells images apart."""
        return self.origin, self.kubernetes, self.checksum

    def line(self) -> str:
        """As it stands in the description."""
        said = {
            "vmid": self.vmid,
            "name": self.name,
            "origin": self.origin,
            "kubernetes": self.kubernetes,
            "checksum": self.checksum,
            "url": self.url,
            "made": self.made,
            "pool": self.pool,
        }
        return PREFIX + json.dumps(said, separators=(",", ":"))


def marker_of(image: Image, vmid: int, made: str, pool: str = "") -> Marker:
    """The marker of a new template."""
    return Marker(vmid, image.name, image.origin, str(image.checksum), image.shown_url, image.kubernetes, made, pool)


def key_of(image: Image) -> tuple[str, str, str]:
    """What the markers of an image have in common."""
    return image.origin, image.kubernetes, str(image.checksum)


def described(image: Image, marker: Marker) -> str:
    """The description of a new template."""
    what = f"Kubernetes {image.kubernetes} in it" if image.kubernetes else "no Kubernetes in it"
    return f"Image {image.origin}, {what}, made by `nagaya proxmox image add` from {image.shown_url}\n\n{marker.line()}"


def read(description: str, vmid: int) -> Marker | None:
    """The marker in the description of a machine; None if there is none, or one that was written for another."""
    for line in reversed(description.splitlines()):
        if not line.startswith(PREFIX):
            continue
        try:
            said = read_json(line.removeprefix(PREFIX))
            checksum(said["checksum"])
            if said["vmid"] != vmid:
                return None
            return Marker(vmid, **{name: str(said.get(name) or "") for name in _TEXTS})
        except (ValueError, TypeError, KeyError, AttributeError, BadChecksum):
            return None
    return None
