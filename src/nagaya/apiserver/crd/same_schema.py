"""When two versions of a definition say the same: what is left out, null or empty is all one."""

from __future__ import annotations

from typing import Any, Final

# These hold any JSON, in which a null or an empty object means something.
_VERBATIM: Final = frozenset({"default", "example", "enum"})
# These hold schemas by name; a schema may be empty, but its name counts.
_BY_NAME: Final = frozenset({"properties", "patternProperties", "definitions", "dependencies"})
# An empty object here says that the thing is there.
_PRESENT: Final = frozenset({"status", "scale", "items", "not", "additionalProperties", "schema", "openAPIV3Schema"})


def canonical(value: Any, member: str = "") -> Any:
    """A value without what says nothing, to be compared with another."""
    if member in _VERBATIM:
        return value
    if isinstance(value, dict):
        if member in _BY_NAME:
            return {name: canonical(each) for name, each in value.items()} or None
        return {name: kept for name, each in value.items() if _says(kept := canonical(each, name), name)}
    if isinstance(value, list):
        return [canonical(each) for each in value] or None
    return value


def _says(value: Any, member: str) -> bool:
    if member in _VERBATIM:
        return value is not None and (value != [] or member != "enum")
    if value is None or value is False or value == "":
        return member == "additionalProperties" and value is False
    return value != {} or member in _PRESENT
