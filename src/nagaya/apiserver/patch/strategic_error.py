"""Why a strategic merge patch was refused, with the status code that the real server gives each reason."""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.meta import govalue


class StrategicPatchError(Exception):
    """A patch that makes no sense for the object.

    Most reasons are answered with 500, because the real server does not classify them; only a few are 400 or 422.
    """

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def bad_format(subject: str) -> StrategicPatchError:
    """A directive is malformed."""
    return StrategicPatchError(f"invalid patch format of {subject}", 400)


def list_of_lists() -> StrategicPatchError:
    """Lists in lists cannot be merged."""
    return StrategicPatchError("lists of lists are not supported", 422)


def no_merge_key(item: dict[str, Any], key: str) -> StrategicPatchError:
    """An item does not say which item it is."""
    return StrategicPatchError(f"map: {govalue.plain(item)} does not contain declared merge key: {key}")


def wrong_type(expected: str, found: Any) -> StrategicPatchError:
    """A list was expected, or a map."""
    shown = govalue.as_string(None) if found is None else govalue.type_name(found)
    return StrategicPatchError(f"expected a {expected}, but received a {shown}")


def unknown_directive(directive: Any, item: dict[str, Any]) -> StrategicPatchError:
    """`$patch` says something that nobody understands."""
    return StrategicPatchError(f"unknown patch type: {govalue.as_string(directive)} in map: {govalue.plain(item)}")
