"""What is different in an object, field by field."""

from __future__ import annotations

from typing import Any

from nagaya.api.untyped import Untyped
from nagaya.insight.foresight.change import LONGEST, Field, differences


def compared(before: dict[str, Any], after: dict[str, Any], kind: str = "Machine") -> list[Field]:
    return list(differences(Untyped({"kind": kind, **before}), Untyped({"kind": kind, **after})))


def test_only_fields_that_differ_are_told_with_their_paths() -> None:
    before = {"spec": {"replicas": 2, "template": {"version": "v1"}, "same": [1, 2]}}
    after = {"spec": {"replicas": 3, "template": {"version": "v2", "new": True}, "same": [1, 2]}}
    assert compared(before, after) == [
        Field(".spec.replicas", "2", "3"),
        Field(".spec.template.new", None, "true"),
        Field(".spec.template.version", "v1", "v2"),
    ]


def test_what_the_server_counts_is_no_change() -> None:
    counted = {"resourceVersion": "1", "generation": 1, "managedFields": [{"manager": "a"}], "uid": "x"}
    before = {"metadata": counted, "status": {"phase": "Running"}}
    after = {"metadata": {**counted, "resourceVersion": "2", "generation": 2, "managedFields": []}, "status": {}}
    assert compared(before, after) == []
    annotated = {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}}
    assert compared({"metadata": {"annotations": {}}}, annotated) == []


def test_entries_of_lists_are_told_apart_by_their_names() -> None:
    before = {"spec": {"devices": [{"name": "a", "size": 1}, {"name": "b", "size": 1}]}}
    after = {"spec": {"devices": [{"name": "b", "size": 2}, {"name": "c", "size": 1}]}}
    assert compared(before, after) == [
        Field(".spec.devices[name=a]", "{name: a, size: 1}", None),
        Field(".spec.devices[name=b].size", "1", "2"),
        Field(".spec.devices[name=c]", None, "{name: c, size: 1}"),
    ]
    assert compared({"spec": {"hosts": ["a"]}}, {"spec": {"hosts": ["a", "b"]}}) == [
        Field(".spec.hosts", "[a]", "[a, b]")
    ]


def test_names_with_dots_are_put_in_brackets() -> None:
    before, after = {"metadata": {"labels": {}}}, {"metadata": {"labels": {"a.example.com/b": "c"}}}
    assert compared(before, after) == [Field(".metadata.labels[a.example.com/b]", None, "c")]


def test_what_is_in_secrets_is_never_shown() -> None:
    (found,) = compared({"data": {"token": "b2xk"}}, {"data": {"token": "bmV3"}}, "Secret")
    assert found == Field(".data.token", "(not shown)", "(not shown)")


def test_long_values_are_cut() -> None:
    (found,) = compared({"spec": {"text": "a"}}, {"spec": {"text": "b" * 500}})
    assert found.after is not None
    assert len(found.after) == LONGEST
    assert found.after.endswith("...")
