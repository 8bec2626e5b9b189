from __future__ import annotations

from typing import Any

import msgspec

from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS
from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS
from nagaya.api.kind import Kind


def written(kind: Kind[Any], obj: Any) -> Any:
    """An object as it is sent."""
    return msgspec.json.decode(msgspec.json.encode(kind.content(obj)))


def test_what_a_user_writes_is_read() -> None:
    spec = {"clusterSelector": {"matchLabels": {"cni": "x"}}, "resources": [{"kind": "Secret", "name": "s"}]}
    found = CLUSTER_RESOURCE_SETS.convert({"metadata": {}, "spec": spec})
    assert found.spec.strategy == ""
    assert found.spec.cluster_selector.match_labels == {"cni": "x"}
    assert written(CLUSTER_RESOURCE_SETS, found)["spec"] == spec


def test_a_binding_says_what_is_not_applied_too() -> None:
    resource = {"kind": "ConfigMap", "name": "c", "applied": False}
    spec = {"clusterName": "c", "bindings": [{"clusterResourceSetName": "s", "resources": [resource]}]}
    found = CLUSTER_RESOURCE_SET_BINDINGS.convert({"metadata": {}, "spec": spec})
    assert written(CLUSTER_RESOURCE_SET_BINDINGS, found)["spec"] == spec
