"""AdmissionReviews and their answers."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.admission.review import mutate, validate
from nagaya.api.catalog import PARTS


def review(resource: str, new: Any, old: Any = None, operation: str = "CREATE") -> dict[str, Any]:
    plural, _, group = resource.partition(".")
    return {
        "request": {
            "uid": "17",
            "operation": operation,
            "kind": {"group": group, "version": "v1beta2", "kind": "Machine"},
            "resource": {"group": group, "version": "v1beta2", "resource": plural},
            "object": new,
            "oldObject": old,
        }
    }


MACHINE = {"metadata": {"name": "one"}, "spec": {"clusterName": "c", "version": "1.36.3", "bootstrap": {}}}


def test_defaults_are_a_json_patch() -> None:
    answer = mutate(review("machines.cluster.x-k8s.io", MACHINE))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert {name: answer["response"][name] for name in ("uid", "allowed", "patchType")} == {
        "uid": "17",
        "allowed": True,
        "patchType": "JSONPatch",
    }
    assert json.loads(base64.b64decode(answer["response"]["patch"])) == [
        {"op": "add", "path": "/metadata/labels", "value": {"cluster.x-k8s.io/cluster-name": "c"}},
        {"op": "replace", "path": "/spec/version", "value": "v1.36.3"},
        {"op": "add", "path": "/spec/deletion", "value": {"nodeDeletionTimeoutSeconds": 10}},
    ]


def test_a_slash_in_a_name_is_escaped() -> None:
    labelled = {**MACHINE, "metadata": {"name": "one", "labels": {"a": "b"}}}
    patch = base64.b64decode(mutate(review("machines.cluster.x-k8s.io", labelled))["response"]["patch"])
    assert json.loads(patch)[0]["path"] == "/metadata/labels/cluster.x-k8s.io~1cluster-name"


def test_an_object_with_all_defaults_is_not_patched() -> None:
    complete = {
        "metadata": {"name": "one", "labels": {"cluster.x-k8s.io/cluster-name": "c"}},
        "spec": {"clusterName": "c", "deletion": {"nodeDeletionTimeoutSeconds": 0}},
    }
    assert mutate(review("machines.cluster.x-k8s.io", complete))["response"] == {"uid": "17", "allowed": True}


def test_a_refusal_names_every_field() -> None:
    response = validate(review("machines.cluster.x-k8s.io", MACHINE))["response"]
    assert not response["allowed"]
    assert response["status"]["code"] == 422
    assert [each["field"] for each in response["status"]["details"]["causes"]] == ["spec.bootstrap", "spec.version"]
    assert response["status"]["message"].startswith('Machine.cluster.x-k8s.io "one" is invalid: [spec.bootstrap: ')


@pytest.mark.parametrize("answer", [mutate, validate])
def test_deletions_are_let_through(answer: Any) -> None:
    asked = review("machines.cluster.x-k8s.io", None, MACHINE, "DELETE")
    assert answer(asked)["response"] == {"uid": "17", "allowed": True}


@pytest.mark.parametrize("answer", [mutate, validate])
def test_a_kind_without_admission_is_refused_with_the_remedy(answer: Any) -> None:
    response = answer(review("boats.example.com", {}))["response"]
    assert not response["allowed"]
    assert "no admission for boats.example.com" in response["status"]["message"]


def test_the_version_of_a_topology_gets_its_v() -> None:
    managed = {"metadata": {"name": "one"}, "spec": {"topology": {"classRef": {"name": "k"}, "version": "1.36.3"}}}
    patch = base64.b64decode(mutate(review("clusters.cluster.x-k8s.io", managed))["response"]["patch"])
    assert json.loads(patch) == [{"op": "replace", "path": "/spec/topology/version", "value": "v1.36.3"}]


def test_only_kinds_that_there_are_have_admission() -> None:
    assert set(ADMISSION) <= {str(definition.kind) for part in PARTS.values() for definition in part}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
NAMES = ["metadata", "labels", "annotations", "spec", "template", "selector", "matchLabels", "clusterName", "version"]
NAMES += ["topology", "rollout", "strategy", "taints", "replicas", "matchExpressions", "deletion", "machineNaming"]
OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4),
    lambda inner: st.dictionaries(st.sampled_from(NAMES), inner | JSON, max_size=5),
    max_leaves=8,
)


@settings(max_examples=60)
@given(resource=st.sampled_from(sorted(ADMISSION)), new=OBJECTS, old=st.none() | OBJECTS)
def test_objects_of_any_shape_are_answered_and_left_as_they_were(resource: str, new: Any, old: Any) -> None:
    before = json.dumps([new, old])
    for answer in (mutate, validate):
        assert isinstance(answer(review(resource, new, old))["response"]["allowed"], bool)
    assert json.dumps([new, old]) == before


@settings(max_examples=60)
@given(resource=st.sampled_from(sorted(ADMISSION)), new=OBJECTS)
def test_defaults_are_set_once(resource: str, new: Any) -> None:
    defaulted = ADMISSION[resource].default(new, None)
    assert ADMISSION[resource].default(defaulted, None) == defaulted
