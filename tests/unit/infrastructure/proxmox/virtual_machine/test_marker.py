"""The marker by which a VM is known."""

from __future__ import annotations

import html
import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from nagaya.infrastructure.proxmox.virtual_machine.marker import (
    PREFIX,
    Marker,
    fingerprint,
    marked,
    new_claim,
    read,
)

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


@given(st.text(max_size=200))
def test_a_new_marker_takes_the_place_of_earlier_ones(description: str) -> None:
    other = replace(MINE, plane="b", claim=fingerprint("secret"), leaving=True)
    again = marked(marked(description, MINE), other)
    assert read(again) == other
    assert again.count(PREFIX + '{"machine":"fleet/a"') == 1


def test_an_earlier_version_reads_what_it_needs_and_its_marker_names_no_plane() -> None:
    new = json.loads(replace(MINE, plane="a", claim="c").line().removeprefix(PREFIX))
    assert (new["machine"], new["uid"], new["cluster"]) == (MINE.machine, MINE.uid, MINE.cluster)
    old = read('nagaya: {"machine":"fleet/a","uid":"u","cluster":"fleet/harbour"}')
    assert old == Marker("fleet/a", "u", "fleet/harbour")


def test_claims_are_secret_and_none_has_no_fingerprint() -> None:
    claim = new_claim()
    assert claim != new_claim()
    assert claim not in replace(MINE, claim=fingerprint(claim)).line()
    assert fingerprint("") == ""


def test_a_marker_of_strange_types_does_no_harm() -> None:
    assert read('nagaya: {"uid":"u","machine":7,"plane":["x"],"claim":null,"leaving":"yes"}') == Marker(
        "7", "u", plane="['x']"
    )
    assert read("nagaya: " + "[" * 100_000) is None


def test_proxmox_may_end_the_description_with_a_new_line() -> None:
    assert read(marked("words", MINE) + "\n") == MINE


def test_a_marker_survives_editors_of_notes() -> None:
    for edited in (
        marked("words\nmore", MINE).replace("\n", "\r\n"),
        "words\n\n" + html.escape(MINE.line()),
        f"words\n  {MINE.line()}  \n\n",
    ):
        assert read(edited) == MINE
        other = replace(MINE, plane="b")
        again = marked(edited, other)
        assert read(again) == other
        assert again.count("nagaya: ") == 1, "the earlier one is replaced"
