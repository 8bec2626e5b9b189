from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import ApiError, bad_request
from nagaya.apiserver.registry.body import check_patched_kind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
BOAT = GroupVersionKind("example.com", "v1", "Boat")


def problem(value: dict[str, Any], kind: GroupVersionKind = CONFIG_MAP) -> str:
    try:
        check_patched_kind(value, kind, bad_request, builtin=kind is CONFIG_MAP)
    except ApiError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"apiVersion": "v1", "kind": "ConfigMap"}, ""),
        ({"apiVersion": "v1"}, ""),
        ({"apiVersion": "v1", "kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (
            {"apiVersion": "v2", "kind": "ConfigMap"},
            'no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
        ),
        ({"apiVersion": "a/b/c", "kind": "ConfigMap"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_a_patch_cannot_make_another_kind_of_a_built_in_object(value: dict[str, Any], said: str) -> None:
    assert problem(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"apiVersion": "example.com/v1", "kind": "Boat"}, ""),
        ({"apiVersion": "example.com/v1"}, "Object 'Kind' is missing in '{\"apiVersion\":\"example.com/v1\"}'"),
        (
            {"apiVersion": "example.com/v1", "kind": "Ship"},
            'Ship.example.com "" is invalid: kind: Invalid value: "Ship": must be Boat',
        ),
        (
            {"apiVersion": "other/v1", "kind": "Boat", "metadata": {"name": "a"}},
            'Boat.other "a" is invalid: apiVersion: Invalid value: "other/v1": must be example.com/v1',
        ),
    ],
)
def test_nor_of_a_custom_one(value: dict[str, Any], said: str) -> None:
    assert problem(value, BOAT) == said
