"""How full storages are."""

from __future__ import annotations

from nagaya.infrastructure.proxmox.client.rows import StorageRow
from nagaya.infrastructure.proxmox.connection.storage_room import fullest

GIB = 1 << 30


def row(node: str, used: int, *, total: int = 100, shared: bool = False, available: bool = True) -> StorageRow:
    return StorageRow("local-lvm", node, available, shared, total=total * GIB, used=used * GIB)


def test_the_host_where_least_is_left_decides() -> None:
    found = fullest([row("pve1", 10), row("pve2", 90), row("pve3", 50)])
    assert str(found) == "10 of 100 GiB free on pve2 (90% used)"
    assert found is not None
    assert found.is_nearly_full
    assert not found.is_full


def test_a_shared_storage_is_on_no_host() -> None:
    found = fullest([row("pve1", 96, shared=True)])
    assert str(found) == "4 of 100 GiB free (96% used)"
    assert found is not None
    assert found.is_full


def test_hosts_that_do_not_tell_do_not_count() -> None:
    assert fullest([row("pve1", 99, available=False), row("pve2", 0, total=0)]) is None
