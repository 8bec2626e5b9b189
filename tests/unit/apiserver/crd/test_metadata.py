from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd.metadata import MalformedMetadataError, read
from support.subtest_cases import subtest_cases

_OWNER = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": True}


def test_ordinary_metadata_is_given_back_itself() -> None:
    value = {
        "name": "a",
        "namespace": "b",
        "labels": {"a": ""},
        "creationTimestamp": "2026-11-16T00:00:00Z",
        "generation": 2,
        "finalizers": ["x/y"],
        "ownerReferences": [_OWNER],
        "deletionGracePeriodSeconds": 0,
        "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:a": {}}}],
    }
    assert read(value) == (value, [])
    assert read(value).value is value


@subtest_cases(
    ("given", "canonical"),
    [
        (None, {}),
        ({"name": ""}, {}),
        ({"labels": {}, "finalizers": [], "generation": 0, "creationTimestamp": None}, {}),
        ({"labels": {"a": None}}, {"labels": {"a": ""}}),
        ({"finalizers": [None]}, {"finalizers": [""]}),
        ({"ownerReferences": [None]}, {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}),
        ({"generation": 1.0}, {"generation": 1}),
        ({"creationTimestamp": "2020-01-01T00:00:00.5+01:00"}, {"creationTimestamp": "2019-12-31T23:00:00Z"}),
        ({"deletionGracePeriodSeconds": None}, {}),
        ({"managedFields": [{"fieldsV1": 1, "time": None}]}, {"managedFields": [{"fieldsV1": 1}]}),
    ],
)
def test_metadata_is_made_canonical(given: Any, canonical: Any) -> None:
    assert read(given).value == canonical


def test_unknown_members_are_dropped_and_named() -> None:
    value, unknown = read({"name": "a", "zoo": 2, "foo": 1, "ownerReferences": [{**_OWNER, "x": 1}]})
    assert value == {"name": "a", "ownerReferences": [_OWNER]}
    assert unknown == ["foo", "ownerReferences[0].x", "zoo"]


@subtest_cases(
    ("given", "problem"),
    [
        (5, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        ([], "json: cannot unmarshal array into Go value of type v1.ObjectMeta"),
        ({"name": 5}, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        ({"uid": 1}, "json: cannot unmarshal number into Go struct field ObjectMeta.uid of type types.UID"),
        ({"labels": {"a": 1}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        (
            {"labels": []},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        (
            {"finalizers": "x"},
            "json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string",
        ),
        (
            {"ownerReferences": [{"name": 5}]},
            "json: cannot unmarshal number into Go struct field OwnerReference.ownerReferences.name of type string",
        ),
        (
            {"ownerReferences": {}},
            "json: cannot unmarshal object into Go struct field ObjectMeta.ownerReferences of type []v1.OwnerReference",
        ),
        (
            {"generation": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64",
        ),
        (
            {"generation": True},
            "json: cannot unmarshal bool into Go struct field ObjectMeta.generation of type int64",
        ),
        (
            {"managedFields": [{"operation": 1}]},
            "json: cannot unmarshal number into Go struct field "
            "ManagedFieldsEntry.managedFields.operation of type v1.ManagedFieldsOperationType",
        ),
        (
            {"creationTimestamp": 5},
            "json: cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string",
        ),
        (
            {"deletionTimestamp": "x"},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
        ),
    ],
)
def test_malformed_metadata_is_an_error_in_the_words_of_the_real_server(given: Any, problem: str) -> None:
    with pytest.raises(MalformedMetadataError) as caught:
        read(given)
    assert str(caught.value) == problem


def test_stored_metadata_loses_only_what_is_malformed() -> None:
    value, unknown = read({"name": "a", "labels": {"a": 1}, "generation": "x", "foo": 1}, drop_malformed=True)
    assert value == {"name": "a"}
    assert unknown == ["foo"]
