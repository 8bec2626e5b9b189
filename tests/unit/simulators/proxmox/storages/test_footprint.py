from __future__ import annotations

import pytest

from nagaya.simulators.proxmox.storages.footprint import empty_file

MIB = 1 << 20
GIB = 1 << 30


@pytest.mark.parametrize(
    ("size", "taken"), [(MIB, 266240), (4 * MIB, 266240), (16 * MIB, 266240), (GIB, 331776), (2 * GIB, 462848)]
)
def test_a_new_qcow2_file_has_all_its_tables(size: int, taken: int) -> None:
    assert empty_file("qcow2", size) == taken


def test_a_linked_clone_has_larger_tables() -> None:
    assert empty_file("qcow2", GIB, linked=True) == 528384


def test_tables_of_reference_counts_grow_with_the_disk() -> None:
    assert empty_file("qcow2", 3 * GIB) - empty_file("qcow2", 2 * GIB) == (2 + 1) * 65536


def test_a_new_raw_file_has_its_first_block() -> None:
    assert (empty_file("raw", GIB), empty_file("raw", 0)) == (4096, 0)
