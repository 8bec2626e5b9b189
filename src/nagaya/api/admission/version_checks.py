"""Kubernetes versions: a v in front, and a semantic version after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nagaya.api.admission.content import Content, put, text
from nagaya.api.admission.field_error import FieldError, invalid

_NUMBER: Final = "(?:0|[1-9][0-9]*)"
_PRERELEASE: Final = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_semantic = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-{_PRERELEASE}(?:\.{_PRERELEASE})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
).fullmatch


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version."""

    major: int
    minor: int
    patch: int
    text: str

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Major, minor and patch, to compare by: what follows them does not count."""
        return self.major, self.minor, self.patch


def parse_version(version: str) -> Version | None:
    """The version, with or without a v in front, None if it is none."""
    bare = version.removeprefix("v")
    match = _semantic(bare)
    return Version(int(match[1]), int(match[2]), int(match[3]), bare) if match else None


def with_v(content: Content, *path: str) -> Content:
    """The object with a v in front of the version at a path, if there is a version."""
    version = text(content, *path)
    return put(content, f"v{version}", *path) if version and not version.startswith("v") else content


def check_version(version: str, field: str, problem: str = "must be a valid semantic version") -> Iterator[FieldError]:
    """What is wrong with a version. None at all is fine."""
    if not version:
        return
    if not version.startswith("v"):
        yield invalid(field, version, "must start with v")
    if parse_version(version) is None:
        yield invalid(field, version, problem)
