"""Values in place of those that a server refused, so that grown objects pass its checks.

A refused object shows only what refusing costs. The causes in the answer name the fields: for each the server's own
proposal is tried, then texts and numbers of common forms, and then the object does without the field. What is learned
from an object with two items holds for one with thousands: a list or a map counts as one step, whatever the item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

Path = tuple[str | None, ...]
"""Members; None for any item of a list or entry of a map."""
Form = Callable[[int], Any]

_PART: Final = re.compile(r"\[[^\]]*\]|[^.\[\]]+")
_WRONG: Final = ("FieldValueInvalid", "FieldValueDuplicate")
_PROPOSED: Final = re.compile(r'supported values?: "([^"]+)"')


def _constant(text: str, _: int) -> str:
    return text


def _address(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


_FORMS: Final[Sequence[Form]] = (
    lambda number: f"a{number}",
    lambda number: number + 2000,
    lambda number: f"a.b/c{number}",
    lambda number: f"/a{number}",
    _address,
    lambda number: f"{_address(number)}/32",
    lambda number: f"https://a{number}.example.com/",
    lambda number: f"a{number}.example.com",
    lambda number: f"A{number}",
    lambda number: [_address(number)],
    lambda number: {"matchLabels": {"a": f"a{number}"}},
    lambda number: f"v1.{number}.0",
)


class Repairs:
    """What has been learned about the objects of one place."""

    def __init__(self, place: Path, sample_at: Callable[[Path, int], Any]) -> None:
        """`place` grows: it is neither replaced nor removed, and nor is anything that it is in. `sample_at` returns a
        small value of the type that a path has; None if nothing is known of the path."""
        self._place = place
        self._sample_at = sample_at
        self._tried: dict[Path, int] = {}
        self._form: dict[Path, Form | None] = {}

    def learn(self, causes: Iterable[Mapping[str, str]]) -> bool:
        """Choose other values for the fields that causes name. Returns whether there was anything left to try."""
        learned = False
        for path, cause in {read_path(cause.get("field", "")): cause for cause in causes}.items():
            if path and path != self._place[: len(path)] and self._form.get(path, _FORMS[0]) is not None:
                learned = self._choose(path, cause) or learned
        return learned

    def _choose(self, path: Path, cause: Mapping[str, str]) -> bool:
        tried = self._tried[path] = self._tried.get(path, -1) + 1
        is_required = cause.get("reason") == "FieldValueRequired"
        if not tried and (proposed := _PROPOSED.search(cause.get("message", ""))):
            self._form[path] = partial(_constant, proposed[1])
        elif not tried and is_required and self._sample_at(path, 0) is not None:
            self._form[path] = partial(self._sample_at, path)
        elif tried < len(_FORMS) and (is_required or cause.get("reason") in _WRONG):
            self._form[path] = _FORMS[tried]
        elif is_required:
            return False
        else:
            self._form[path] = None
        return True

    def apply(self, obj: dict[str, Any], first: int = 0) -> None:
        """Change an object. Items are counted from `first`, so that other ones get other values."""
        for path, form in sorted(self._form.items(), key=lambda each: len(each[0])):
            _put(obj, path, form, first)


def read_path(field: str) -> Path:
    """The path of a field as the server writes it. Empty for the whole object."""
    if field.startswith("<"):
        return ()
    return tuple(None if part.startswith("[") else part for part in _PART.findall(field))


def _put(found: Any, path: Path, form: Form | None, number: int) -> None:
    step, *rest = path
    if step is None:
        keys: Iterable[Any] = range(len(found)) if isinstance(found, list) else tuple(found)
        for position, key in enumerate(keys):
            if rest and isinstance(found[key], dict | list):
                _put(found[key], tuple(rest), form, number + position)
            elif not rest and form is not None:
                found[key] = form(number + position)
    elif isinstance(found, dict):
        if not rest:
            if form is None:
                found.pop(step, None)
            else:
                found[step] = form(number)
        elif isinstance(inner := found.setdefault(step, {}), dict | list):
            _put(inner, tuple(rest), form, number)
