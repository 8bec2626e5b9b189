"""Where the plain cloud images of distributions are. They have neither Kubernetes nor the QEMU guest agent in them.

Debian's are those with the full set of drivers: hosts hand devices on to machines, which the smaller kernel of the
`genericcloud` ones does not know. All are for amd64, which is what Proxmox VE runs on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Distribution:
    """An image that is published again and again at one address, with a list of checksums beside it."""

    name: str
    url: str
    sums: str
    """The name of the list."""


_DEBIAN: Final = "https://cloud.debian.org/images/cloud"
_UBUNTU: Final = "https://cloud-images.ubuntu.com/releases"


def _debian(number: int, codename: str) -> Distribution:
    url = f"{_DEBIAN}/{codename}/latest/debian-{number}-generic-amd64.qcow2"
    return Distribution(f"debian-{number}", url, "SHA512SUMS")


def _ubuntu(version: str) -> Distribution:
    url = f"{_UBUNTU}/{version}/release/ubuntu-{version}-server-cloudimg-amd64.img"
    return Distribution(f"ubuntu-{version}", url, "SHA256SUMS")


DISTRIBUTIONS: Final[Mapping[str, Distribution]] = {
    each.name: each for each in (_debian(13, "trixie"), _debian(12, "bookworm"), _ubuntu("26.04"), _ubuntu("24.04"))
}
