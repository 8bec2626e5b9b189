"""How an object is named where its kind is known: by the work queue, the cache and every reconcile."""

from __future__ import annotations

from typing import NamedTuple

from nagaya.api.kind import Object


class Key(NamedTuple):
    """A namespace (empty for what is in none) and a name."""

    namespace: str
    name: str

    @classmethod
    def of(cls, obj: Object) -> Key:
        """The key of an object."""
        return cls(obj.metadata.namespace, obj.metadata.name)

    @classmethod
    def parse(cls, text: str) -> Key:
        """A key from `namespace/name`, or from a name alone."""
        namespace, _, name = text.rpartition("/")
        return cls(namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
