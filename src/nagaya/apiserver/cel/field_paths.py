"""The `fieldPath` of a rule: where below its value a failure is to be reported, written `.spec.containers` or `['my-key']`."""

from __future__ import annotations

import re
from typing import Any, Final

from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.meta.status import JsonObject

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


def normalize(text: str, schema: JsonObject) -> str:
    """The path in the form that field errors have. Raises ValueError when the schema has no such field."""
    tokens = iter(_TOKEN.findall(text))
    path = Path()
    where: Any = schema
    for token in tokens:
        if token == ".":
            name = _next(tokens)
        elif token == "[":
            quoted = _next(tokens)
            if len(quoted) < 2 or not quoted.startswith("'") or not quoted.endswith("'"):
                raise ValueError(f"expected single quoted string but got {quoted}")
            name = _unquoted(quoted[1:-1])
        else:
            raise ValueError(f"expected [ or . but got: {token}")
        path, where = _descend(path, where, name)
        if token == "[" and (closing := _next(tokens)) != "]":
            raise ValueError(f"expected ] but got {closing}")
    return "" if str(path) == "<nil>" else str(path)


def _next(tokens: Any) -> str:
    token = next(tokens, None)
    if token is None:
        raise ValueError("unexpected end of JSON path")
    return str(token)


def _unquoted(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise ValueError(f"invalid string literal: invalid escape char {found[0]}")
        return _ESCAPES[found[1]]

    return _ESCAPE.sub(character, text)


def _descend(path: Path, schema: Any, name: str) -> tuple[Path, Any]:
    properties = (schema or {}).get("properties")
    if properties:
        if name not in properties:
            raise ValueError("does not refer to a valid field")
        return path.child(name), properties[name]
    values = (schema or {}).get("additionalProperties")
    if values is None or values is False:
        raise ValueError("does not refer to a valid field")
    return path.key(name), values if isinstance(values, dict) else None
