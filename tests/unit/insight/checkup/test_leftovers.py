"""Leftovers, counted."""

from __future__ import annotations

from nagaya.clusters.leftovers import Leftover, Untouched
from nagaya.insight.checkup.finding import Standing, worst
from nagaya.insight.checkup.leftovers import findings


def test_nothing_left_is_well() -> None:
    (found,) = findings([], [], ())
    assert found.standing is Standing.OK


def test_what_is_left_points_to_the_command_that_lists_it() -> None:
    going, staying, hidden = findings(
        [Leftover("VM 100", "proof"), Leftover("VM 101", "proof")],
        [Untouched("VM 200", "It is another's.")],
        ["pve2 is off"],
    )
    assert going.standing is Standing.WARNING
    assert "VM 100 and 1 more" in going.evidence
    assert "It is another's." in staying.evidence
    assert hidden.standing is Standing.UNCHECKED
    assert {each.remedy for each in (going, staying, hidden)} == {("nagaya gc --dry-run",)}


def test_the_worst_finding_decides() -> None:
    found = list(findings([Leftover("VM 100", "proof")], [], ["pve2 is off"]))
    assert worst(found) is Standing.WARNING
    assert worst(found[1:]) is Standing.UNCHECKED
    assert worst([]) is Standing.OK
