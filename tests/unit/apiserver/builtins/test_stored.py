"""Storing an object as protobuf levels a few differences."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.builtins import facts
from nagaya.apiserver.builtins.stored import as_stored
from nagaya.apiserver.meta.gvk import GroupVersionKind


def kind(name: str, group: str = "") -> Any:
    return facts.struct_of(GroupVersionKind(group, "v1", name))


def test_an_empty_list_that_is_always_written_becomes_none() -> None:
    role = kind("ClusterRole", "rbac.authorization.k8s.io")
    assert as_stored(role, {"metadata": {}, "rules": []}) == {"metadata": {}, "rules": None}


def test_the_same_happens_deep_inside() -> None:
    pod = kind("Pod")
    obj = {"spec": {"volumes": [{"name": "a"}, {"name": "b", "projected": {"sources": []}}], "containers": []}}
    assert as_stored(pod, obj) == {
        "spec": {"volumes": [{"name": "a"}, {"name": "b", "projected": {"sources": None}}], "containers": None}
    }


def test_nulls_in_maps_of_bytes_and_lists_become_empty() -> None:
    assert as_stored(kind("Secret"), {"data": {"a": None, "b": "Yg=="}}) == {"data": {"a": "", "b": "Yg=="}}
    request = kind("CertificateSigningRequest", "certificates.k8s.io")
    spec = {"request": None, "extra": {"a": None, "b": ["c"]}}
    assert as_stored(request, {"spec": spec}) == {"spec": {"request": None, "extra": {"a": [], "b": ["c"]}}}


@pytest.mark.parametrize("name", ["ConfigMap", "Pod", "Secret", "Node", "Service"])
def test_an_object_that_does_not_change_is_returned_itself(name: str) -> None:
    obj: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {}, "status": {}}
    assert as_stored(kind(name), obj) is obj


def test_the_given_object_is_not_changed() -> None:
    obj: dict[str, Any] = {"metadata": {}, "rules": []}
    as_stored(kind("Role", "rbac.authorization.k8s.io"), obj)
    assert obj == {"metadata": {}, "rules": []}


def test_custom_resource_definitions_are_stored_as_json() -> None:
    definition = kind("CustomResourceDefinition", "apiextensions.k8s.io")
    obj = {"status": {"conditions": [], "storedVersions": []}}
    assert as_stored(definition, obj) is obj
