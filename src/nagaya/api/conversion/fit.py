"""Fits converted content to the schema of its kind: nothing is lost unnoticed, and nothing is refused needlessly.

Older versions wrote out empty values that v1beta2 does not accept (`discovery: {}`, `port: 0`): they mean "not set" and
are left out. A field that v1beta2 does not have is removed and reported, and so is one that v1beta2 demands and that
is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.conversion.finding import Finding

_ABSENT: Final = object()
Schema = Mapping[str, Any]


class Fitting:
    """One object being fitted."""

    __slots__ = ("_subject", "findings")

    def __init__(self, subject: str, findings: list[Finding]) -> None:
        self._subject = subject
        self.findings = findings

    def fit(self, content: dict[str, Any], schema: Schema) -> dict[str, Any]:
        """The content as the schema of whole objects wants it. Metadata is left alone."""
        result: dict[str, Any] = {}
        for name, value in content.items():
            if name in ("apiVersion", "kind", "metadata"):
                result[name] = value
                continue
            known = schema["properties"].get(name)
            demanded = name in schema.get("required", ())
            fitted = self._unknown(name) if known is None else self._value(value, known, name, required=demanded)
            if fitted is not _ABSENT:
                result[name] = fitted
        self._missing(result, schema, "")
        return result

    def _value(self, value: Any, schema: Schema, path: str, *, required: bool) -> Any:
        if value is None:
            return _ABSENT
        if isinstance(value, dict) and schema.get("type") == "object":
            value = self._object(value, schema, path, required=required)
        elif isinstance(value, list) and schema.get("type") == "array":
            items = (
                self._value(item, schema["items"], f"{path}[{index}]", required=True)
                for index, item in enumerate(value)
            )
            value = [item for item in items if item is not _ABSENT]
        return _ABSENT if not required and _unset(value, schema) else value

    def _object(self, value: dict[str, Any], schema: Schema, path: str, *, required: bool) -> dict[str, Any]:
        properties = schema.get("properties")
        if properties is None:
            values = schema.get("additionalProperties")
            if not isinstance(values, Mapping):
                return value
            fitted = {name: self._value(item, values, f"{path}.{name}", required=True) for name, item in value.items()}
            return {name: item for name, item in fitted.items() if item is not _ABSENT}
        result: dict[str, Any] = {}
        demanded = schema.get("required", ())
        for name, item in value.items():
            known = properties.get(name)
            if known is not None:
                kept = self._value(item, known, f"{path}.{name}", required=name in demanded)
            elif schema.get("x-kubernetes-preserve-unknown-fields"):
                kept = item
            else:
                kept = self._unknown(f"{path}.{name}")
            if kept is not _ABSENT:
                result[name] = kept
        if required or not _unset(result, schema):
            self._missing(result, schema, path)
        return result

    def _missing(self, value: Mapping[str, Any], schema: Schema, path: str) -> None:
        for name in schema.get("required", ()):
            if name not in value:
                where = f"{path}.{name}" if path else name
                message = "missing, and v1beta2 demands it: add it to the converted object."
                self.findings.append(Finding(self._subject, where, message, loss=True))

    def _unknown(self, path: str) -> Any:
        message = "not carried over: v1beta2 has no such field."
        self.findings.append(Finding(self._subject, path, message, loss=True))
        return _ABSENT


def _unset(value: Any, schema: Schema) -> bool:
    """Whether a value is empty in a way that the schema does not accept, which older versions wrote for "not set"."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return not value and (schema.get("minLength", 0) > 0 or bool(schema.get("enum")))
    if isinstance(value, int):
        return value == 0 and schema.get("minimum", 0) > 0
    if isinstance(value, list):
        return not value and schema.get("minItems", 0) > 0
    if isinstance(value, dict):
        return not value and schema.get("minProperties", 0) > 0
    return False
