from __future__ import annotations

import pytest

from nagaya.clusters.names import listed, machines_named


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["a"], "Machine a is"),
        (["b", "a"], "Machines a, b are"),
        (["c", "b", "a"], "Machines a, b, c are"),
        (["d", "c", "b", "a"], "Machines a, b, c, ... (1 more) are"),
    ],
)
def test_machines_are_the_subject_of_a_sentence(names: list[str], sentence: str) -> None:
    assert machines_named(names) == sentence


def test_names_stay_in_their_order_and_are_counted_when_there_are_many() -> None:
    assert listed(["b", "a"], 2) == "b, a"
    assert listed([3, 2, 1], 2) == "3, 2, ... (1 more)"
    assert listed([], 2) == ""
