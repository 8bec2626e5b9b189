from __future__ import annotations

import pytest

from nagaya.apiserver.builtins.assemble import assemble
from nagaya.apiserver.meta.gvk import GroupVersionResource
from nagaya.apiserver.registry.preconditions import other_uid
from nagaya.world import World

RESOURCES = {each.gvr: each for each in assemble({}, World().clock.now)}


@pytest.mark.parametrize(
    ("resource", "place"),
    [
        (("", "v1", "configmaps"), "configmaps"),
        (("apps", "v1", "deployments"), "deployments"),
        (("networking.k8s.io", "v1", "ingresses"), "ingress"),
        (("", "v1", "nodes"), "minions"),
        (("", "v1", "endpoints"), "services/endpoints"),
        (("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "apiextensions.k8s.io/customresourcedefinitions"),
    ],
)
def test_the_place_of_an_object_is_called_as_in_the_real_server(resource: tuple[str, str, str], place: str) -> None:
    why = other_uid(RESOURCES[GroupVersionResource(*resource)], "a/b", "x", {"metadata": {"uid": "y"}})

    assert why == (
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}/a/b, ResourceVersion: 0, "
        "AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: y"
    )
