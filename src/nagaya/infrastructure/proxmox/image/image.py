"""An image, and what everything that is made of it is called.

All names come from the image alone: two runs for one image mean the same file and the same templates, whoever starts
them and wherever. The file's name holds a part of the checksum, so that another build never passes for this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from nagaya.api.proxmox.template_source import version_tag
from nagaya.infrastructure.proxmox.image.checksum import Checksum

FORMATS: Final = ("qcow2", "raw", "vmdk")
_ORIGIN: Final = re.compile(r"^[a-z0-9][a-z0-9.-]{0,59}$")
_VERSION: Final = re.compile(r"^v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$")
_UNUSUAL: Final = re.compile(r"[^a-z0-9]+")
_PACKED: Final = ("gz", "xz", "zst", "bz2", "zip", "7z")
_BY_SUFFIX: Final = {"qcow2": "qcow2", "qcow": "qcow2", "img": "qcow2", "raw": "raw", "vmdk": "vmdk"}


class BadImage(ValueError):
    """It cannot be used. The message is a sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Image:
    """A disk with an operating system on it."""

    origin: str
    """What it is: `debian-13`. It becomes a tag of its templates."""
    url: str
    checksum: Checksum
    format: str = "qcow2"
    kubernetes: str = ""
    """The version that is in it, `v1.36.3`; empty for a plain image."""

    @property
    def name(self) -> str:
        """Of its templates."""
        version = f"-k8s-{self.kubernetes}" if self.kubernetes else ""
        return _UNUSUAL.sub("-", f"{self.origin}{version}".lower()).strip("-")

    @property
    def tags(self) -> tuple[str, ...]:
        """Of its templates when they are ready: all of them, as a selector that is exact wants it."""
        version = (version_tag(self.kubernetes),) if self.kubernetes else ()
        return tuple(sorted((self.origin, *version)))

    @property
    def file(self) -> str:
        """What it is called on a storage."""
        return f"nagaya-{self.origin}-{self.checksum.short}.{self.format}"

    @property
    def shown_url(self) -> str:
        """The address without what may be secret in it."""
        return shown(self.url)


def shown(url: str) -> str:
    """An address without credentials and query, which may be secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def image(url: str, checksum: Checksum, *, origin: str = "", format: str = "", kubernetes: str = "") -> Image:
    """From what people give. Raises BadImage."""
    file = file_of(url)
    suffix = file.rpartition(".")[2].lower()
    if suffix in _PACKED:
        raise BadImage(f"{file} is packed, and Proxmox VE does not unpack images: give the address of one that is not.")
    if suffix == "ova":
        raise BadImage(f"{file} is an archive of a whole machine: give the address of its disk (qcow2, raw or vmdk).")
    chosen = format or _BY_SUFFIX.get(suffix, "")
    if chosen not in FORMATS:
        raise BadImage(f"The name {file} does not say what format the image has: give --format {'|'.join(FORMATS)}.")
    named = (origin or _origin(file)).lower()
    if not _ORIGIN.match(named):
        raise BadImage(f"{named!r} cannot be a tag in Proxmox VE: give --origin, such as debian-13.")
    if kubernetes and not _VERSION.match(kubernetes):
        raise BadImage(f"{kubernetes!r} is no version of Kubernetes: write it in full, such as v1.36.3.")
    version = f"v{kubernetes.removeprefix('v')}" if kubernetes else ""
    return Image(named, url, checksum, chosen, version)


def file_of(url: str) -> str:
    """The name of the file at an address. Raises BadImage."""
    parts = urlsplit(url)
    name = parts.path.rpartition("/")[2]
    if parts.scheme not in ("http", "https") or not parts.hostname or not name:
        raise BadImage(f"{shown(url)!r} is no address of a file: write https://<server>/<path>/<image>.qcow2.")
    return name


def _origin(file: str) -> str:
    stem = file.rpartition(".")[0] or file
    return re.sub(r"[^a-z0-9.-]+", "-", stem.lower()).strip("-.")[:60]
