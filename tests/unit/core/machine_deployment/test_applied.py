"""When a MachineSet has to be told what it shall be."""

from __future__ import annotations

from typing import Any

import msgspec

from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.core.machine_deployment.applied import Applied
from support.builders import Draft, machine_set


def draft() -> Draft[MachineSet]:
    return machine_set().having(
        metadata={"finalizers": ["a"]}, spec={"replicas": 3, "template": {"metadata": {"labels": {"x": "y"}}}}
    )


def wanted(present: MachineSet | None = None) -> dict[str, Any]:
    content = MACHINE_SETS.content(present or draft().made())
    kept = ("name", "namespace", "uid", "labels", "annotations", "finalizers")
    return {**content, "metadata": {name: content["metadata"][name] for name in kept}}


def at_version(present: MachineSet, version: str) -> MachineSet:
    metadata = msgspec.structs.replace(present.metadata, resource_version=version)
    return msgspec.structs.replace(present, metadata=metadata)


def test_a_set_that_says_all_of_it_and_no_more_is_left_alone() -> None:
    assert Applied().settled(draft().having(status={"replicas": 3}).made(), wanted())


def test_what_differs_is_applied() -> None:
    assert not Applied().settled(draft().having(spec={"replicas": 2}).made(), wanted())
    assert not Applied().settled(draft().having(metadata={"finalizers": []}).made(), wanted())
    assert not Applied().settled(draft().labelled({"cluster.x-k8s.io/deployment-name": None}).made(), wanted())


def test_finalizers_of_others_are_no_difference() -> None:
    assert Applied().settled(draft().having(metadata={"finalizers": ["b", "a"]}).made(), wanted())


def test_what_may_be_left_over_is_asked_for_once() -> None:
    more = draft().having(spec={"template": {"metadata": {"labels": {"old": "1"}}}}).made()
    applied = Applied()
    assert not applied.settled(more, wanted())
    applied.tell(more, wanted())
    assert applied.settled(at_version(more, "7"), wanted())
    other = wanted(draft().having(spec={"replicas": 4}).made())
    assert not applied.settled(more, other)


def test_what_the_server_changes_is_not_sent_again_and_again() -> None:
    normalised = draft().having(spec={"template": {"spec": {"version": "v1.37.0"}}}).made()
    applied = Applied()
    applied.tell(normalised, wanted())
    assert applied.settled(normalised, wanted())
    assert not applied.settled(at_version(normalised, "7"), wanted())


def test_sets_that_are_gone_are_forgotten() -> None:
    more = draft().labelled({"extra": "1"}).made()
    applied = Applied()
    applied.tell(more, wanted())
    applied.keep(())
    assert not applied.settled(more, wanted())
