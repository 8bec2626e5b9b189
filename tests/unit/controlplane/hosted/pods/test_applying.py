"""Which objects are applied, and which never."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.api.meta import OwnerReference
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.kubernetes.kinds import DEPLOYMENTS, Planned
from nagaya.controlplane.hosted.kubernetes.objects import objects
from nagaya.controlplane.hosted.pods.applying import APPLIED, content_of, is_current, stranger, whole
from support.hosted_tenancies import OWNER, full, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def planned(**spec: Any) -> Planned:
    return Planned(DEPLOYMENTS, "tenants", "one", {"metadata": {"labels": {"a": "b"}}, "spec": spec})


def test_what_was_applied_is_current_with_whatever_the_server_adds() -> None:
    for tenancy in (plain(), full()):
        for each in objects(tenancy):
            content = content_of(each)
            present = copy.deepcopy(content)
            present["metadata"] |= {"uid": "x", "resourceVersion": "7"}
            present["status"] = {"replicas": 1}
            assert is_current(content, Untyped(present))


def test_a_field_that_somebody_changed_or_that_is_no_longer_wanted_is_noticed() -> None:
    before = content_of(planned(replicas=2, paused=True))
    assert not is_current(before, Untyped({**before, "spec": {"replicas": 3, "paused": True}}))
    assert not is_current(content_of(planned(replicas=2)), Untyped(before)), "`paused` has to go"


@settings(max_examples=30)
@given(wanted=st.dictionaries(st.text(max_size=3), JSON, max_size=4), more=JSON)
def test_one_content_has_one_hash(wanted: dict[str, Any], more: Any) -> None:
    content = content_of(planned(**{f"x{name}": value for name, value in wanted.items()}))
    assert is_current(content, Untyped(copy.deepcopy(content)))
    other = content_of(planned(**{f"x{name}": value for name, value in wanted.items()}, added=more))
    assert content["metadata"]["annotations"][APPLIED] != other["metadata"]["annotations"][APPLIED]


def test_what_is_told_of_an_object_does_not_change_what_it_is() -> None:
    content = content_of(planned(replicas=2))
    told = {**content, "status": {"a": 1}, "metadata": {**content["metadata"], "resourceVersion": "9"}}
    assert whole(Untyped(told)) == whole(Untyped(content))
    assert whole(Untyped({**content, "spec": {"replicas": 1}})) != whole(Untyped(content))


def _owned(*references: OwnerReference) -> Untyped:
    owners = [
        {"apiVersion": each.api_version, "kind": each.kind, "name": each.name, "uid": each.uid, "controller": True}
        for each in references
    ]
    return Untyped({"kind": "Service", "metadata": {"namespace": "n", "name": "s", "ownerReferences": owners}})


def test_only_what_the_control_plane_manages_is_its_own() -> None:
    another = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="u")
    earlier = OwnerReference(api_version=OWNER.api_version, kind=OWNER.kind, name=OWNER.name, uid="before")

    assert stranger(_owned(OWNER), OWNER) == ""
    assert "Service n/s exists already and is nobody's" in stranger(_owned(), OWNER)
    assert "ReplicaSet web's" in stranger(_owned(another), OWNER)
    assert "an earlier control plane of the same name" in stranger(_owned(earlier), OWNER)
