"""What an empty disk takes of the space of a storage of files, before anything was written to it.

PVE makes qcow2 files with all their tables: one that lists the tables of reference counts, those tables themselves, one
that lists the tables of clusters, and these. Their number follows from the size of the disk. Of a raw file, qemu-img
writes the first block, so that later programs can find out how the disk below wants to be written.
"""

from __future__ import annotations

BLOCK = 4096
CLUSTER = 64 << 10
LINKED_CLUSTER = 128 << 10
"""Linked clones have larger clusters, with the parts of each kept apart."""
_ENTRY = 8
_LINKED_ENTRY = 16
_COUNT = 2


def empty_file(format: str, size: int, *, linked: bool = False) -> int:
    """Bytes that qemu-img has written when it made a disk of a size."""
    if format != "qcow2":
        return BLOCK if size else 0
    cluster, entry = (LINKED_CLUSTER, _LINKED_ENTRY) if linked else (CLUSTER, _ENTRY)
    tables = _pieces(size, cluster * (cluster // entry))
    counts = _pieces(size, cluster * (cluster // _COUNT))
    return BLOCK + cluster * (2 + max(1, counts) + tables)


def _pieces(size: int, each: int) -> int:
    return -(-size // each)
