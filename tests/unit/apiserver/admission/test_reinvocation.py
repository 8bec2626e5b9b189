"""Who is asked again when something changed after its turn."""

from __future__ import annotations

from nagaya.apiserver.admission.reinvocation import Memory


def test_only_those_asked_before_a_change_are_asked_again() -> None:
    memory = Memory()
    memory.invoked("first")
    memory.changed()
    memory.invoked("second")
    assert memory.is_due("first")
    assert not memory.is_due("second")


def test_a_change_between_the_rounds_counts() -> None:
    memory = Memory()
    memory.begin({"a": 1}, again=False)
    memory.invoked("only")
    memory.end({"a": 1})
    memory.begin({"a": 2}, again=True)
    assert memory.is_due("only")


def test_nobody_is_asked_again_when_nothing_changed() -> None:
    memory = Memory()
    memory.invoked("only")
    memory.end({"a": 1})
    memory.begin({"a": 1}, again=True)
    assert not memory.is_due("only")
