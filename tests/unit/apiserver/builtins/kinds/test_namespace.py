"""Namespaces: their label, their finalizers, and how they end."""

from typing import Any

from support.core_kinds import CoreKinds

LABEL = "kubernetes.io/metadata.name"


async def namespaces(**metadata: Any) -> CoreKinds:
    kinds = CoreKinds()
    await kinds.create("namespaces", {"metadata": metadata})
    return kinds


def stored(kinds: CoreKinds) -> Any:
    return kinds.get("namespaces", "it")


async def test_a_new_namespace_is_active_labelled_and_has_to_be_emptied() -> None:
    kinds = CoreKinds()
    made = await kinds.create(
        "namespaces",
        {"metadata": {"labels": {LABEL: "other"}}, "spec": {"finalizers": ["a/b"]}, "status": {"phase": "Terminating"}},
    )
    assert made["metadata"]["labels"] == {LABEL: "it"}
    assert made["spec"] == {"finalizers": ["a/b", "kubernetes"]}
    assert made["status"] == {"phase": "Active"}


async def test_the_label_cannot_be_taken_off() -> None:
    kinds = await namespaces(labels={"a": "b"})
    changed = await kinds.change("namespaces", "it", {"metadata": {"labels": None}})
    assert changed["metadata"]["labels"] == {LABEL: "it"}


async def test_finalizers_and_status_do_not_change_with_the_rest() -> None:
    kinds = await namespaces()
    changed = await kinds.change("namespaces", "it", {"spec": {"finalizers": []}, "status": {"phase": "Terminating"}})
    assert changed["spec"]["finalizers"] == ["kubernetes"]
    assert changed["status"] == {"phase": "Active"}


async def test_deletion_marks_a_namespace_and_goes_on_when_it_is_empty() -> None:
    kinds = await namespaces()
    await kinds.delete("namespaces", "it")
    marked = stored(kinds)
    assert marked["status"] == {"phase": "Terminating"}
    assert marked["metadata"]["deletionTimestamp"] == "2026-11-01T12:00:00Z"
    assert "finalizers" not in marked["metadata"]
    await kinds.delete("namespaces", "it")
    assert stored(kinds) == marked
    await kinds.change("namespaces", "it", {"spec": {"finalizers": []}}, "finalize")
    assert stored(kinds) is None


async def test_a_namespace_goes_only_when_both_lists_of_finalizers_are_empty() -> None:
    kinds = await namespaces(finalizers=["a/b"])
    await kinds.delete("namespaces", "it")
    await kinds.change("namespaces", "it", {"spec": {"finalizers": []}}, "finalize")
    assert stored(kinds)["spec"] == {}
    await kinds.change("namespaces", "it", {"metadata": {"finalizers": []}})
    assert stored(kinds) is None


async def test_what_becomes_of_dependents_is_written_down() -> None:
    kinds = await namespaces(finalizers=["a/b"])
    await kinds.delete("namespaces", "it", propagation="Foreground")
    assert stored(kinds)["metadata"]["finalizers"] == ["a/b", "foregroundDeletion"]


async def test_the_phase_says_whether_the_namespace_is_being_deleted() -> None:
    kinds = await namespaces()
    found = await kinds.change_refused("namespaces", "it", {"status": {"phase": "Terminating"}}, "status")
    detail = "may only be 'Active' if `deletionTimestamp` is empty"
    assert found == [f'status.Phase: Invalid value: "Terminating": {detail}']
    await kinds.delete("namespaces", "it")
    found = await kinds.change_refused("namespaces", "it", {"status": {"phase": "Active"}}, "status")
    detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
    assert found == [f'status.Phase: Invalid value: "Active": {detail}']


async def test_a_finalizer_needs_a_domain() -> None:
    kinds = await namespaces()
    unknown = "name is neither a standard finalizer name nor is it fully qualified"
    found = await kinds.change_refused("namespaces", "it", {"spec": {"finalizers": ["a/b", "abc"]}}, "finalize")
    assert found == [f'spec.finalizers[1]: Invalid value: "abc": {unknown}']
    found = await kinds.refused("namespaces", {"metadata": {"name": "two"}, "spec": {"finalizers": ["abc"]}})
    assert found == [f'spec.finalizers: Invalid value: "abc": {unknown}']
