from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd import version_rules
from nagaya.apiserver.meta.field_errors import Path

_SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {f"f{each}": {"type": "string"} for each in range(9)}}},
}


def selectable(*paths: str, schema: dict[str, Any] | None = _SCHEMA, **more: Any) -> list[str]:
    fields = [{"jsonPath": path} for path in paths]
    return [str(error) for error in version_rules.check_selectable(fields, schema, Path("s"), **more)]


def test_eight_fields_may_be_selectable() -> None:
    paths = [f".spec.f{each}" for each in range(9)]
    assert selectable(*paths[:8]) == []
    assert selectable(*paths) == ["s: Too many: 9: must have at most 8 items"]
    assert selectable(*paths, any_number=True) == []


def test_selectable_fields_need_a_schema() -> None:
    assert selectable(schema=None) == []
    assert selectable(".spec.f0", schema=None) == [
        's: Invalid value: "": may only be set when `version.schema.openAPIV3Schema` is not included'
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("use v2", None),
        ("", "must not be an empty string"),
        ("a\tb", "must only contain printable UTF-8 characters; non-printable character found at index 1"),
        ("ü\u2028", "must only contain printable UTF-8 characters; non-printable character found at index 2"),
        ("x" * 257, "must be <= 256 characters long"),
    ],
)
def test_a_deprecation_warning_fits_into_a_header(text: str, problem: str | None) -> None:
    version = {"deprecated": True, "deprecationWarning": text}
    details = [error.detail for error in version_rules.check_deprecation(version, Path("v"))]
    assert details == ([] if problem is None else [problem])


def test_only_a_deprecated_version_has_a_warning() -> None:
    assert [error.detail for error in version_rules.check_deprecation({"deprecationWarning": "x"}, Path("v"))] == [
        "can only be set for deprecated versions"
    ]
    assert list(version_rules.check_deprecation({"deprecated": True}, Path("v"))) == []
