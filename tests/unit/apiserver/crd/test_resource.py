from __future__ import annotations

import copy
from typing import Any

import pytest

from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.meta.status import ApiError
from unit.apiserver.crd.machine_schema import SCHEMA, machine

_MACHINE = CustomResource("Machine", {"name": "v1beta2", "schema": {"openAPIV3Schema": SCHEMA}})


def body(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": "a"}, **more}


def test_a_complete_object_goes_through_with_its_defaults() -> None:
    given = machine()
    before = copy.deepcopy(given)
    obj, unknown = _MACHINE.decode(given)
    assert unknown == []
    assert _MACHINE.validator.validate(obj) == []
    assert obj["spec"]["deletion"] == {"nodeDeletionTimeoutSeconds": 10}
    assert obj["spec"]["taints"][0]["propagation"] == "Always"
    assert obj["status"] is given["status"]
    assert given == before


def test_decoding_again_changes_nothing() -> None:
    obj, _ = _MACHINE.decode(machine())
    again, unknown = _MACHINE.decode(obj)
    assert again is obj
    assert unknown == []


def test_unknown_fields_are_reported_metadata_first() -> None:
    given = body(spec={"zone": 1, "bootstrap": {"b": 1}}, extra={})
    given["metadata"]["foo"] = 1
    obj, unknown = _MACHINE.decode(given)
    assert unknown == [
        'unknown field "metadata.foo"',
        'unknown field "extra"',
        'unknown field "spec.bootstrap.b"',
        'unknown field "spec.zone"',
    ]
    assert obj["metadata"] == {"name": "a"}
    assert _MACHINE.decode(given, report=False)[1] == []


def test_malformed_metadata_is_a_bad_request() -> None:
    with pytest.raises(ApiError) as caught:
        _MACHINE.decode({**body(), "metadata": {"name": 5}})
    assert caught.value.code == 400
    assert caught.value.message == (
        'Machine in version "v1beta2" cannot be handled as a Machine: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
    )


def test_a_stored_object_is_brought_up_to_date() -> None:
    stored = body(spec={"gone": 1, "clusterName": None})
    stored["metadata"]["labels"] = {"a": 1}
    assert _MACHINE.refresh(stored) == body(spec={"deletion": {"nodeDeletionTimeoutSeconds": 10}, "minReadySeconds": 0})


def test_absent_metadata_stays_absent_and_null_becomes_empty() -> None:
    given = body()
    del given["metadata"]
    assert "metadata" not in _MACHINE.decode(given)[0]
    assert _MACHINE.decode({**given, "metadata": None})[0]["metadata"] == {}


def test_subresources_and_selectable_fields_are_read() -> None:
    version = {
        "name": "v1",
        "schema": {"openAPIV3Schema": {"type": "object"}},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "selectableFields": [{"jsonPath": ".spec.color"}],
    }
    resource = CustomResource("Widget", version)
    assert resource.has_status
    assert resource.scale is not None
    assert resource.selectable.names == {"spec.color"}
    assert not _MACHINE.has_status
    assert _MACHINE.scale is None


def test_an_applied_object_keeps_its_nulls_and_gets_its_defaults() -> None:
    schema = {
        "type": "object",
        "properties": {
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "mode": {"type": "string", "default": "slow"},
        },
    }
    kind = CustomResource("Boat", {"name": "v1", "schema": {"openAPIV3Schema": schema}})
    given = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "a"}, "free": None, "mode": None}

    applied = kind.complete(given)

    assert (applied["free"], applied["mode"]) == (None, "slow")
    assert [str(each) for each in kind.validator.validate(applied)] == [
        'free: Invalid value: "null": free in body must be of type object: "null"'
    ]
    assert "free" not in kind.decode(given)[0]


def test_an_applied_object_is_refused_for_malformed_metadata() -> None:
    with pytest.raises(ApiError, match="cannot be handled as a Machine"):
        _MACHINE.complete({**body(), "metadata": {"labels": 5}})
