"""Revisions of the template."""

from __future__ import annotations

from nagaya.api.cluster.annotations import REVISION
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.core.machine_deployment.revision import HISTORY, current_annotations, kept_annotations
from support.builders import machine_set


def a_set(revision: str | None, history: str | None = None) -> MachineSet:
    return machine_set().annotated({REVISION: revision, HISTORY: history}).made()


def test_the_first_set_is_revision_one() -> None:
    assert current_annotations(None, ()) == {REVISION: "1"}


def test_a_new_set_comes_after_all_old_ones() -> None:
    assert current_annotations(None, [a_set("2"), a_set("7"), a_set(None), a_set("x")]) == {REVISION: "8"}


def test_the_current_set_keeps_its_revision_although_old_ones_go() -> None:
    assert current_annotations(a_set("7"), [a_set("2")]) == {REVISION: "7"}


def test_a_set_that_becomes_current_again_remembers_what_it_was() -> None:
    assert current_annotations(a_set("1"), [a_set("2")]) == {REVISION: "3", HISTORY: "1"}
    assert current_annotations(a_set("3", "1"), [a_set("4")]) == {REVISION: "5", HISTORY: "1,3"}


def test_an_adopted_set_without_a_revision_gets_one_and_has_no_history() -> None:
    assert current_annotations(a_set(None), [a_set("4")]) == {REVISION: "5"}


def test_old_sets_keep_what_they_have() -> None:
    assert kept_annotations(a_set("3", "1")) == {REVISION: "3", HISTORY: "1"}
    assert kept_annotations(a_set(None)) == {}
