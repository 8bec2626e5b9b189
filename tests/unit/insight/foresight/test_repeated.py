"""Objects that are given more than once: the last one counts, and where all of them are is told."""

from __future__ import annotations

from typing import Any

from nagaya.insight.foresight.change import Change, Verb
from nagaya.insight.foresight.doubts import Doubt, Severity
from nagaya.insight.foresight.rehearsal import Manifest, Rehearsed
from nagaya.insight.foresight.repeated import last_ones

CORE = "cluster.x-k8s.io"


def manifest(name: str, source: str, number: int = 1, *, version: str = f"{CORE}/v1beta2", **metadata: Any) -> Manifest:
    content = {"apiVersion": version, "kind": "Cluster", "metadata": {"name": name, **metadata}}
    return Manifest(content, source, number)


def looked_at(*manifests: Manifest, refused: str = "") -> tuple[list[str], list[Doubt]]:
    """The files whose objects count, and the doubts."""
    rehearsed = [
        Rehearsed(
            Change(
                Verb.REFUSE if each.source == refused else Verb.CREATE,
                each.kind,
                each.namespace or "default",
                each.name or "(no name)",
                each.source,
            )
        )
        for each in manifests
    ]
    counting, doubts = last_ones(manifests, rehearsed)
    return [each.change.source for each in counting], doubts


def test_the_last_of_two_counts_and_both_places_are_told() -> None:
    counting, (doubt,) = looked_at(
        manifest("demo", "a.yaml", 2), manifest("other", "a.yaml"), manifest("demo", "b.yaml")
    )
    assert counting == ["a.yaml", "b.yaml"]
    assert doubt.severity is Severity.WARNING
    assert doubt.what == (
        "Cluster default/demo is given twice: by a.yaml (object 2) and b.yaml (object 1). kubectl apply takes them in "
        "this order, so the last one wins, and only that is foretold here."
    )
    assert doubt.remedy == "Take out all but one, or give them names of their own."


def test_a_file_that_is_there_twice_is_one_matter() -> None:
    names = ("a", "b", "c", "d", "e")
    given = [manifest(name, file, number) for file in ("x.yaml", "y.yaml") for number, name in enumerate(names, 1)]
    counting, (doubt,) = looked_at(*given)
    assert counting == ["y.yaml"] * 5
    assert "Cluster default/a is given twice: by x.yaml (object 1) and y.yaml (object 1) (as are " in doubt.what
    assert "(as are Cluster default/b, Cluster default/c, Cluster default/d and 1 more)" in doubt.what


def test_an_object_is_the_same_in_another_version_and_with_its_namespace_left_out() -> None:
    counting, (doubt,) = looked_at(
        manifest("demo", "a.yaml", version=f"{CORE}/v1beta1"),
        manifest("demo", "b.yaml", namespace="default"),
        manifest("demo", "c.yaml"),
    )
    assert counting == ["c.yaml"]
    assert "is given 3 times: by a.yaml (object 1), b.yaml (object 1) and c.yaml (object 1)." in doubt.what


def test_names_that_other_groups_and_namespaces_have_too_are_no_matter_of_doubt() -> None:
    counting, doubts = looked_at(
        manifest("demo", "a.yaml"),
        manifest("demo", "b.yaml", namespace="team"),
        manifest("demo", "c.yaml", version="boats.example.com/v1"),
    )
    assert (len(counting), doubts) == (3, [])


def test_objects_without_a_name_are_not_taken_for_one() -> None:
    counting, doubts = looked_at(manifest("", "a.yaml"), manifest("", "a.yaml"))
    assert (len(counting), doubts) == (2, [])


def test_one_that_is_refused_is_told_although_another_comes_after_it() -> None:
    counting, doubts = looked_at(manifest("demo", "a.yaml"), manifest("demo", "b.yaml"), refused="a.yaml")
    assert (counting, len(doubts)) == (["a.yaml", "b.yaml"], 1)
