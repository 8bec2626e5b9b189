"""What is in an archive: a tar file, compressed by gzip, with these members in this order.

    archive.json               the form, and of what it is
    objects/cluster.json       the Cluster
    objects/control-plane.json the HostedControlPlane
    secrets/<name>.json        authorities and other Secrets
    data/00000001 ...          the data, cut into pieces: one after the other they are a copy as of `snapshots.py`
    sums.json                  the SHA-256 of each member above, without which an archive is not whole

So any tool shows what it is, `cat data/*` gives the copy, and it can be written and read without being held in memory.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

FORMAT: Final = "nagaya.tenant-archive/1"

HEAD: Final = "archive.json"
CLUSTER: Final = "objects/cluster.json"
CONTROL_PLANE: Final = "objects/control-plane.json"
SECRETS: Final = "secrets/"
DATA: Final = "data/"
SUMS: Final = "sums.json"

PIECE: Final = 4 << 20
"""Bytes of a member with data, but for the last one."""
LARGEST: Final = 16 << 20
"""Bytes that any member may have: far more than the largest object of an API, which has 1.5 MiB."""

LARGEST_OBJECT: Final = 3 << 20
"""Bytes that a member with an object may have: what an API server reads of a request."""
MOST_OBJECTS: Final = 32
"""Members that are no data."""
FREE, RATIO = 256 << 20, 200
"""Bytes that any archive may unpack to, and how many more per byte of the file."""

_SECRET = re.compile(r"secrets/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\.json")


class Head(msgspec.Struct, frozen=True, rename="camel"):
    """Of what an archive is."""

    made: str
    """When, as RFC 3339."""
    namespace: str
    cluster: str
    """The name of the Cluster."""
    control_plane: str
    """The name of the HostedControlPlane."""
    uid: str
    """Its uid: what the data was stored under."""
    version: str
    """Of Kubernetes."""
    data_store: str
    driver: str
    encrypted: bool = False
    """Whether the API server encrypted what it stored."""
    format: str = FORMAT


class Sums(msgspec.Struct, frozen=True):
    """The last member."""

    members: dict[str, str]
    """SHA-256 of each, hexadecimal, in their order."""


def data_member(number: int) -> str:
    """The name of a piece of the data; the first has number 1."""
    return f"{DATA}{number:08d}"


def follows(before: str, name: str, pieces: int) -> bool:
    """Whether a member may come after another; `pieces` of the data were there before it."""
    if not before:
        return name == HEAD
    if before == HEAD:
        return name == CLUSTER
    if before == CLUSTER:
        return name == CONTROL_PLANE
    if name == SUMS:
        return before.startswith(DATA)
    if name == data_member(pieces + 1):
        return before != SUMS
    return bool(_SECRET.fullmatch(name)) and (before == CONTROL_PLANE or (before.startswith(SECRETS) and before < name))
