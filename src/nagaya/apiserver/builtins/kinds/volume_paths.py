"""Paths inside volumes and hosts: none may lead out of where it starts."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid


def validate_no_backsteps(text: str, path: Path) -> Iterator[FieldError]:
    """A path without `..` as one of its parts."""
    if ".." in text.split("/"):
        yield invalid(path, text, "must not contain '..'")


def validate_descending(text: str, path: Path) -> Iterator[FieldError]:
    """A relative path that stays below its start."""
    if text.startswith("/"):
        yield invalid(path, text, "must be a relative path")
    yield from validate_no_backsteps(text, path)


def validate_unreserved(text: str, path: Path) -> Iterator[FieldError]:
    """The same, for files that are written into a volume: names with two dots in front are taken."""
    yield from validate_descending(text, path)
    if text.startswith("..") and not text.startswith("../"):
        yield invalid(path, text, "must not start with '..'")
