from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd import scale
from nagaya.apiserver.crd.scale import ScalePaths
from nagaya.apiserver.meta.status import ApiError

_PATHS = ScalePaths(".spec.replicas", ".status.replicas", ".status.selector")
_METADATA = {"name": "w", "namespace": "default", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}


def resource(spec: Any = None, status: Any = None) -> dict[str, Any]:
    return {"kind": "Widget", "metadata": dict(_METADATA), "spec": spec or {}, "status": status or {}}


def test_paths_come_from_the_definition() -> None:
    given = {"specReplicasPath": ".spec.a.b", "statusReplicasPath": ".status.c"}
    assert ScalePaths.of(given) == ScalePaths(".spec.a.b", ".status.c", "")
    assert ScalePaths.of(given).replicas_fields == ("spec", "a", "b")


def test_a_scale_shows_the_numbers_and_who_it_is_about() -> None:
    assert scale.show(resource({"replicas": 3}, {"replicas": 2, "selector": "app=x"}), _PATHS) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "w", "namespace": "default", "uid": "u", "resourceVersion": "7"},
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "app=x"},
    }


def test_a_wish_for_nothing_is_left_out() -> None:
    shown = scale.show(resource({"replicas": 0}), _PATHS)
    assert shown["spec"] == {}
    assert shown["status"] == {"replicas": 0}


def test_an_object_without_a_number_has_no_scale() -> None:
    with pytest.raises(ApiError) as caught:
        scale.show(resource(), _PATHS)
    assert caught.value.code == 500
    assert caught.value.message == ('Internal error occurred: the spec replicas field ".spec.replicas" does not exist')


def test_a_number_of_the_wrong_type_is_an_error() -> None:
    with pytest.raises(ApiError) as caught:
        scale.show(resource({"replicas": "a"}), _PATHS)
    assert (caught.value.code, caught.value.message) == (
        500,
        ".spec.replicas accessor error: a is of the type string, expected int64",
    )


def test_applying_a_scale_changes_one_number() -> None:
    before = resource({"replicas": 3, "color": "red"})
    after = scale.apply(before, {"spec": {"replicas": 5}, "metadata": {}}, _PATHS)
    assert after == resource({"replicas": 5, "color": "red"})
    assert before["spec"]["replicas"] == 3


def test_applying_a_scale_makes_the_way_to_the_number() -> None:
    assert scale.apply({"metadata": {}}, {"spec": {"replicas": 2}}, _PATHS)["spec"] == {"replicas": 2}


def test_a_resource_version_in_the_scale_is_a_condition() -> None:
    after = scale.apply(resource(), {"spec": {"replicas": 1}, "metadata": {"resourceVersion": "5"}}, _PATHS)
    assert after["metadata"] == {**_METADATA, "resourceVersion": "5"}


def test_a_number_cannot_be_put_into_a_text() -> None:
    with pytest.raises(ApiError) as caught:
        scale.apply({"metadata": {}, "spec": "text"}, {"spec": {"replicas": 1}}, _PATHS)
    assert caught.value.message == "value cannot be set because .spec is not a map[string]interface{}"


def test_an_unset_number_cannot_be_sent_back() -> None:
    with pytest.raises(ApiError) as caught:
        scale.apply(resource(), {"spec": {"replicas": -(2**31)}}, _PATHS)
    assert (caught.value.code, caught.value.message) == (
        400,
        'the spec replicas field ".spec.replicas" cannot be empty',
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"replicas": -1}, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
        ({"replicas": 2**31}, ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"),
        (
            {"replicas": [1]},
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: "
            "[1] is of the type []interface {}, expected int64",
        ),
        (
            5,
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: "
            "5 is of the type int64, expected map[string]interface{}",
        ),
    ],
)
def test_numbers_that_a_scale_cannot_show_are_refused(spec: Any, message: str) -> None:
    assert [str(error) for error in scale.validate_spec({"spec": spec}, _PATHS)] == [message]


def test_the_status_must_be_showable_too() -> None:
    assert scale.validate_status(resource(status={"replicas": 1, "selector": "a=b"}), _PATHS) == []
    assert [
        str(error) for error in scale.validate_status(resource(status={"replicas": -1, "selector": 5}), _PATHS)
    ] == [
        ".status.replicas: Invalid value: -1: should be a non-negative integer",
        '.status.selector: Invalid value: "": .status.selector accessor error: 5 is of the type int64, expected string',
    ]
