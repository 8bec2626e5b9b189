"""Paths that a definition uses to point into its own schema: `.spec.nodes['a b'].name`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.meta.field_errors import Path

# Delimiters, quoted texts, and whatever stands between them.
_TOKENS: Final = re.compile(r"[.\[\]]|'(?:[^']|(?<=\\)')*'|'.*\Z|[^.\[\]]+", re.DOTALL)
_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}


def resolve(path: str, schema: Schema, *, brackets: bool = True) -> tuple[Path, list[str], Schema | None]:
    """The place a path leads to: as a field path, as names, and its schema (None below `additionalProperties: true`).

    Raises ValueError if the path is malformed or leads to nothing that the schema knows.
    """
    where, names, here = Path(), list[str](), schema
    tokens = iter(_TOKENS.findall(path))
    found: Schema | None = here
    for part in tokens:
        if part == ".":
            name = _next(tokens)
        elif part == "[":
            if not brackets:
                raise ValueError("array notation is not allowed")
            name = _quoted(_next(tokens))
        else:
            raise ValueError(f"expected [ or . but got: {part}")
        if found is None:
            raise ValueError("does not refer to a valid field")
        where, found = _step(where, found, name)
        names.append(name)
        if part == "[" and (closing := _next(tokens)) != "]":
            raise ValueError(f"expected ] but got {closing}")
    return where, names, found


def _next(tokens: Iterator[str]) -> str:
    try:
        return next(tokens)
    except StopIteration:
        raise ValueError("unexpected end of JSON path") from None


def _step(where: Path, schema: Schema, name: str) -> tuple[Path, Schema | None]:
    if schema.properties:
        if name not in schema.properties:
            raise ValueError("does not refer to a valid field")
        return where.child(name), schema.properties[name]
    if schema.additional is None:
        raise ValueError("does not refer to a valid field")
    return where.key(name), schema.values


def _quoted(text: str) -> str:
    if len(text) < 2 or not text.startswith("'") or not text.endswith("'"):
        raise ValueError(f"expected single quoted string but got {text}")

    def unescape(found: re.Match[str]) -> str:
        char = found[0][1]
        if char not in _ESCAPES:
            raise ValueError(f"invalid string literal: invalid escape char {found[0]}")
        return _ESCAPES[char]

    return re.sub(r"\\.", unescape, text[1:-1])
