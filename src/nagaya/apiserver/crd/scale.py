"""The scale subresource: one view of how many replicas there are, whatever a custom resource calls them.

A definition says where in its objects the numbers are (`.spec.replicas`). What is shown is an `autoscaling/v1` Scale;
what comes back through it is one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from nagaya.apiserver.meta import govalue
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.status import ApiError, JsonObject, bad_request, internal
from nagaya.apiserver.schema.types import MISSING

_MAX_INT32: Final = 2**31 - 1
# The real server's sign for "there was no number"; a client that sends it back gets the same answer.
_UNSET: Final = -(2**31)


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where the numbers are. Paths start with a dot, as the definition has them; the selector's may be empty."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""

    @classmethod
    def of(cls, scale: JsonObject) -> ScalePaths:
        """Read the `subresources.scale` of a version."""
        return cls(
            scale.get("specReplicasPath") or "",
            scale.get("statusReplicasPath") or "",
            scale.get("labelSelectorPath") or "",
        )

    @property
    def replicas_fields(self) -> tuple[str, ...]:
        """The member names that lead to the number a client can set."""
        return tuple(_fields(self.spec_replicas))


def show(obj: JsonObject, paths: ScalePaths) -> JsonObject:
    """The Scale of a custom resource. Raises ApiError if the object has no number to set."""
    scale, found = view(obj, paths)
    if not found:
        raise internal(f'the spec replicas field "{paths.spec_replicas}" does not exist')
    return scale


def view(obj: JsonObject, paths: ScalePaths) -> tuple[JsonObject, bool]:
    """The Scale of a custom resource, and whether the object says how many replicas it wants."""
    wanted = _integer(obj, paths.spec_replicas)
    counted = _integer(obj, paths.status_replicas)
    selector = _text(obj, paths.selector) if paths.selector else ""
    metadata = obj.get("metadata") or {}
    shown = {
        name: metadata[name]
        for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if metadata.get(name)
    }
    status: JsonObject = {"replicas": 0 if counted is MISSING else _int32(counted)}
    if selector:
        status["selector"] = selector
    number = 0 if wanted is MISSING else _int32(wanted)
    spec = {"replicas": number} if number else {}
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": shown, "spec": spec, "status": status}
    return scale, wanted is not MISSING


def apply(obj: JsonObject, scale: JsonObject, paths: ScalePaths) -> JsonObject:
    """A custom resource with the number of replicas that a Scale asks for. The argument is not changed.

    A resourceVersion in the Scale becomes the object's, so that the write fails if the object has changed.
    """
    spec = scale.get("spec")
    number = (spec.get("replicas") if isinstance(spec, dict) else None) or 0
    if number == _UNSET:
        raise bad_request(f'the spec replicas field "{paths.spec_replicas}" cannot be empty')
    changed = _set(obj, _fields(paths.spec_replicas), number)
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version:
        changed = {**changed, "metadata": {**changed["metadata"], "resourceVersion": version}}
    return changed


def validate_spec(obj: JsonObject, paths: ScalePaths) -> list[FieldError]:
    """Whether the wanted number is one that a Scale can show."""
    return _validate_number(obj, paths.spec_replicas)


def validate_status(obj: JsonObject, paths: ScalePaths) -> list[FieldError]:
    """Whether the counted number and the selector are what a Scale can show."""
    errors = _validate_number(obj, paths.status_replicas)
    if paths.selector:
        try:
            _text(obj, paths.selector)
        except ApiError as error:
            errors.append(invalid(paths.selector, "", str(error)))
    return errors


def _validate_number(obj: JsonObject, path: str) -> list[FieldError]:
    try:
        number = _integer(obj, path)
    except ApiError as error:
        return [invalid(Path(path), 0, str(error))]
    if number is MISSING or 0 <= number <= _MAX_INT32:
        return []
    if number < 0:
        return [invalid(path, number, "should be a non-negative integer")]
    return [invalid(path, number, f"should be less than or equal to {_MAX_INT32}")]


def _failure(message: str) -> ApiError:
    """An error without a reason of its own, which is how the real server answers these."""
    return ApiError(500, "", message)


def _access_error(fields: Sequence[str], value: Any, expected: str) -> ApiError:
    shown = f"{govalue.plain(value)} is of the type {govalue.type_name(value)}, expected {expected}"
    return _failure(f".{'.'.join(fields)} accessor error: {shown}")


def _fields(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _integer(obj: JsonObject, path: str) -> Any:
    fields = _fields(path)
    value = _lookup(obj, fields)
    if value is not MISSING and type(value) is not int:
        raise _access_error(fields, value, "int64")
    return value


def _text(obj: JsonObject, path: str) -> str:
    fields = _fields(path)
    value = _lookup(obj, fields)
    if value is MISSING:
        return ""
    if not isinstance(value, str):
        raise _access_error(fields, value, "string")
    return value


def _lookup(obj: JsonObject, fields: Sequence[str]) -> Any:
    value: Any = obj
    for position, name in enumerate(fields):
        if value is None:
            return MISSING
        if type(value) is not dict:
            raise _access_error(fields[: position + 1], value, "map[string]interface{}")
        if name not in value:
            return MISSING
        value = value[name]
    return value


def _int32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _set(obj: JsonObject, fields: Sequence[str], value: Any, position: int = 0) -> JsonObject:
    name = fields[position]
    if position == len(fields) - 1:
        return {**obj, name: value}
    below = obj.get(name, {})
    if type(below) is not dict:
        path = ".".join(fields[: position + 1])
        raise _failure(f"value cannot be set because .{path} is not a map[string]interface{{}}")
    return {**obj, name: _set(below, fields, value, position + 1)}
