"""What a definition may say about a version besides its schema.

Each check yields findings for one part: deprecation, subresources, printer columns, selectable fields. The same checks
serve a version and what all versions share; only the place in the messages differs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.crd import field_paths
from nagaya.apiserver.crd.schema import SchemaTooDeepError, read
from nagaya.apiserver.crd.structural import unsupported
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, invalid, required, too_many
from nagaya.apiserver.meta.status import JsonObject

MAX_SELECTABLE: Final = 8
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")


def check_deprecation(version: JsonObject, path: Path) -> Iterator[FieldError]:
    """Whether the text shown to users of a deprecated version can be sent in a header."""
    text = version.get("deprecationWarning")
    if text is None:
        return
    where = path.child("deprecationWarning")
    if not version.get("deprecated"):
        yield invalid(where, text, "can only be set for deprecated versions")
        return
    if names.size(text) > 256:
        yield invalid(where, text, "must be <= 256 characters long")
    if not text:
        yield invalid(where, text, "must not be an empty string")
    position = 0
    for char in text:
        if char != " " and unicodedata.category(char)[0] in "ZC":
            detail = f"must only contain printable UTF-8 characters; non-printable character found at index {position}"
            yield invalid(where, text, detail)
            break
        position += names.size(char)


def check_subresources(subresources: JsonObject | None, path: Path) -> Iterator[FieldError]:
    """Whether the paths of the scale subresource lead to where they may."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for member, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        text, where = scale.get(member) or "", path.child(f"scale.{member}")
        if not text:
            yield required(where)
        elif not text.startswith("."):
            yield invalid(where, text, "must be a simple json path starting with .")
        elif not text.startswith(root):
            yield invalid(where, text, f"should be a json path under {root[:-1]}")
    selector = scale.get("labelSelectorPath") or ""
    where = path.child("scale.labelSelectorPath")
    if selector and not selector.startswith("."):
        yield invalid(where, selector, "must be a simple json path starting with .")
    elif selector and not selector.startswith((".spec.", ".status.")):
        yield invalid(where, selector, "should be a json path under either .spec or .status")


def check_columns(columns: Sequence[JsonObject], path: Path) -> Iterator[FieldError]:
    """Whether the printer columns have a name, a type and a path."""
    for position, column in enumerate(columns):
        at = path.index(position)
        if not column.get("name"):
            yield required(at.child("name"))
        kind, where = column.get("type") or "", at.child("type")
        if kind not in _COLUMN_TYPES:
            detail = f"must be one of {','.join(_COLUMN_TYPES)}"
            yield invalid(where, kind, detail) if kind else required(where, detail)
        form = column.get("format") or ""
        if form and form not in _COLUMN_FORMATS:
            yield invalid(at.child("format"), form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        text, where = column.get("jsonPath") or "", at.child("JSONPath")
        if not text:
            yield required(where)
        elif not text.startswith("."):
            yield invalid(where, text, "must be a simple json path starting with .")


def check_selectable(
    fields: Sequence[JsonObject], schema: JsonObject | None, path: Path, *, any_number: bool = False
) -> Iterator[FieldError]:
    """Whether the selectable fields are few, different, and of a simple type in the schema."""
    if not fields:
        return
    if schema is None:
        # The real server says the opposite of what it means.
        detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
        yield invalid(path, "", detail)
        return
    try:
        root = read(schema)
    except SchemaTooDeepError:
        return
    if unsupported(root):
        return
    seen: set[str] = set()
    for position, each in enumerate(fields):
        text, where = each.get("jsonPath") or "", path.index(position).child("jsonPath")
        if not text:
            yield required(where)
            continue
        try:
            place, steps, found = field_paths.resolve(text, root, brackets=False)
        except ValueError as error:
            yield invalid(where, text, f"is an invalid path: {error}")
            continue
        if steps[:1] == ["metadata"]:
            yield invalid(where, text, "must not point to fields in metadata")
        if found is None or found.type not in _SELECTABLE_TYPES:
            detail = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            yield invalid(where, text, detail)
        if str(place) in seen:
            yield duplicate(where, text)
        seen.add(str(place))
    if len(seen) > MAX_SELECTABLE and not any_number:
        yield too_many(path, len(seen), MAX_SELECTABLE)
