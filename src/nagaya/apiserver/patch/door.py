"""Where a PATCH request's body meets the object: one function for the three formats, and the answers when it fails.

Server-side apply is not here: it needs field ownership. The bodies come parsed; syntax errors and duplicate members are
found by whoever parses. The result has still to be decoded: nothing here checks that it is valid for its kind.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, NamedTuple

from nagaya.apiserver.meta import govalue, status
from nagaya.apiserver.meta.field_errors import invalid
from nagaya.apiserver.meta.gvk import GroupKind
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.patch import json_patch, merge_patch, strategic
from nagaya.apiserver.patch.json_patch import JsonPatchError
from nagaya.apiserver.patch.strategic_error import StrategicPatchError
from nagaya.apiserver.schema.types import Struct

# The type into which the real server reads the head of every object, as Go prints it.
_TYPED: Final = (
    r'type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)


class PatchType(StrEnum):
    """The media types that a PATCH can have."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Patched(NamedTuple):
    """The outcome: the changed object, and what strict decoding finds in the patch.

    Clients are told of the latter, and of duplicate members, as `json patch unknown field ...`.
    """

    value: JsonObject
    strict_errors: list[str]


def apply_patch(
    patch_type: PatchType, current: JsonObject, patch: Any, schema: Struct | None, *, lenient: bool = False
) -> Patched:
    """Change an object as the patch says; the inputs stay as they are.

    `schema` is needed for strategic merge patches only. `lenient` is for requests with `fieldValidation=Ignore`, whose
    patch is not checked before it is used. Raises ApiError.
    """
    try:
        if patch_type is PatchType.STRATEGIC:
            return Patched(_strategically_merged(current, patch, schema), [])
        patched = _operated if patch_type is PatchType.JSON else _merged
        value = patched(current, patch, lenient)
    except RecursionError:
        raise status.bad_request("error decoding patch: exceeded max depth") from None
    if not isinstance(value, dict):
        problem = f"couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of {_TYPED}"
        raise undecodable(patch_type, patch, value, problem)
    return Patched(value, json_patch.unknown_members(patch) if patch_type is PatchType.JSON and not lenient else [])


def _operated(current: JsonObject, patch: Any, lenient: bool) -> Any:
    problem = json_patch.malformed(patch, lenient=lenient)
    if problem:
        raise status.bad_request(problem if lenient else f"error decoding patch: {problem}")
    operations = patch or []
    if len(operations) > json_patch.OPERATIONS_LIMIT:
        raise status.too_large(
            f"The allowed maximum operations in a JSON patch is {json_patch.OPERATIONS_LIMIT}, got {len(operations)}"
        )
    try:
        return json_patch.apply(current, operations)
    except JsonPatchError as error:
        raise unprocessable(str(error)) from error


def _merged(current: JsonObject, patch: Any, lenient: bool) -> Any:
    if isinstance(patch, dict):
        return merge_patch.apply(current, patch)
    if patch is None:
        raise status.bad_request("Invalid JSON Patch")
    if not lenient:
        found = json_patch.json_type(patch)
        problem = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        raise status.bad_request(f"error decoding patch: {problem}")
    if isinstance(patch, list):
        return merge_patch.without_nulls(patch)
    raise status.bad_request("Invalid JSON Patch")


def _strategically_merged(current: JsonObject, patch: Any, schema: Struct | None) -> JsonObject:
    if schema is None:
        raise status.bad_request("strategic merge patch format is not supported")
    if patch is None:
        patch = {}
    if not isinstance(patch, dict):
        found = json_patch.json_type(patch)
        raise status.bad_request(f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
    try:
        return strategic.apply(current, patch, schema)
    except StrategicPatchError as error:
        if error.code == 400:
            raise status.bad_request(error.message) from error
        if error.code == 422:
            raise unprocessable(error.message) from error
        raise ApiError(500, "", error.message) from error


def unprocessable(why: str) -> ApiError:
    """The answer to a patch that does not fit the object. The client is not told why; the log is."""
    error = ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})
    error.add_note(why)
    return error


def undecodable(patch_type: PatchType, patch: Any, patched: Any, problem: str) -> ApiError:
    """The answer when the patched value is not a valid object, for example by the strict rules."""
    if patch_type is PatchType.STRATEGIC:
        shown = govalue.plain(patch)
    else:
        # The members that the patch went through are sorted, the others are as they were; this gets the first level.
        ordered = dict(sorted(patched.items())) if isinstance(patched, dict) else patched
        shown = govalue.struct_json(ordered)
    return status.invalid(GroupKind("", ""), "", [invalid("patch", shown, problem)])
