"""Objects of kinds that Nagaya has no types for: other people's providers, seen through the contract only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from nagaya.api.meta import ObjectMeta


class Untyped:
    """A decoded JSON object with typed metadata. Read-only by agreement: it is shared with the cache."""

    __slots__ = ("metadata", "raw")

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.metadata: ObjectMeta = msgspec.convert(raw.get("metadata") or {}, ObjectMeta)

    @property
    def api_version(self) -> str:
        """Group and version, as in `apps/v1`."""
        return cast(str, self.raw.get("apiVersion", ""))

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return cast(str, self.raw.get("kind", ""))

    def at(self, *path: str) -> Any:
        """The value at a path of member names, None if there is none."""
        value: Any = self.raw
        for name in path:
            if value.__class__ is not dict and not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return value

    def __repr__(self) -> str:
        """Without the content, which may be a secret."""
        return f"Untyped({self.kind} {self.metadata.namespace}/{self.metadata.name})"
