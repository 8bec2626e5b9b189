"""The marker by which a VM is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker, marked, read

MINE = Marker("fleet/a", "11111111-2222-4333-8444-555555555555", "fleet/harbour")


@given(st.text(max_size=200))
def test_a_marker_is_found_again_after_any_description(description: str) -> None:
    assert read(marked(description, MINE)) == MINE


def test_a_description_without_a_marker_has_none() -> None:
    assert read("") is None
    assert read("made by hand\nnagaya is mentioned here") is None


def test_a_marker_that_cannot_be_read_is_none() -> None:
    assert read("nagaya: {broken") is None
    assert read('nagaya: ["a list"]') is None
    assert read('nagaya: {"machine":"fleet/a"}') is None


def test_proxmox_may_end_the_description_with_a_new_line() -> None:
    assert read(marked("words", MINE) + "\n") == MINE
