"""The fields of a custom resource that a field selector may name besides its name and namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagaya.apiserver.meta import govalue
from nagaya.apiserver.meta.status import JsonObject


class SelectableFields:
    """The `selectableFields` of a version. Paths are plain: names with dots between them."""

    def __init__(self, fields: Sequence[JsonObject]) -> None:
        paths = [str(each.get("jsonPath") or "").removeprefix(".") for each in fields]
        self._paths = {path: path.split(".") for path in paths}
        self.names = frozenset(self._paths)

    def values(self, obj: JsonObject) -> Mapping[str, str]:
        """What an object has for each of the fields, as text; empty for one that is absent or null."""
        return {name: _text(obj, path) for name, path in self._paths.items()}


def _text(obj: JsonObject, path: Sequence[str]) -> str:
    value: Any = obj
    for name in path:
        if not isinstance(value, dict) or value.get(name) is None:
            return ""
        value = value[name]
    return govalue.plain(value)
