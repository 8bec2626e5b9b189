"""Names of container images: where they come from, what they are called, and which one is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Self

_NOT_IN_TAGS: Final = re.compile(r"[^-a-zA-Z0-9_.]")


@dataclass(frozen=True, slots=True)
class Image:
    """`repository/name:tag@digest`, of which only the name is always there."""

    repository: str
    name: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The parts of a name. Raises ValueError if there is no name in it."""
        rest, _, digest = text.partition("@")
        repository, _, last = rest.rpartition("/")
        name, _, tag = last.partition(":")
        if not name:
            raise ValueError(f"{text!r} is not the name of an image")
        return cls(repository, name, tag, digest)

    def __str__(self) -> str:
        place = f"{self.repository}/" if self.repository else ""
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{place}{self.name}{tag}{digest}"

    def at(self, repository: str) -> Self:
        """The same from elsewhere; from where it is if nothing is given."""
        return replace(self, repository=repository.rstrip("/")) if repository else self

    def tagged(self, version: str) -> Self:
        """Another version of it. Raises ValueError if it is pinned to one."""
        if self.digest:
            raise ValueError(f"{self} is pinned by a digest, so its version cannot follow")
        return replace(self, tag=as_tag(version))


def as_tag(version: str) -> str:
    """A version as it can stand in a tag, which knows no plus sign."""
    return _NOT_IN_TAGS.sub("_", version)
