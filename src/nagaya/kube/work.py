"""What a worker is busy with, for whoever writes a line of log meanwhile: which object, whose, and in which reconcile.

It travels with the task and with every task that is begun from it, so no function has to hand it on. What always holds:
outside of a reconcile there is none; the owners are looked up only when a line is written, and only in the cache.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.kind import Kind, Object
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key

FARTHEST: Final = 8
"""So many owners are followed: no chain is longer, unless it is a circle."""


@dataclass(frozen=True, slots=True)
class Work:
    """One reconcile."""

    controller: str
    kind: Kind[Any]
    key: Key
    number: int
    """The how-many-eth reconcile of its controller, since the process began."""
    cache: Cache

    @property
    def id(self) -> str:
        """What all lines of this reconcile have in common, and no others of the process."""
        return f"{self.controller}-{self.number}"

    def owners(self) -> list[str]:
        """Who owns the object, who owns that, and so on, as `Kind/name`. It ends where the cache does."""
        found: list[str] = []
        kinds = {(each.group, each.kind): each for each in self.cache.kinds}
        obj: Object | None = self.cache.get(self.kind, self.key) if self.cache.has(self.kind) else None
        while obj is not None and len(found) < FARTHEST:
            metadata = obj.metadata
            owner = metadata.controller or next(iter(metadata.owner_references), None)
            if owner is None:
                break
            found.append(f"{owner.kind}/{owner.name}")
            kind = kinds.get((owner.api_version.rpartition("/")[0], owner.kind))
            if kind is None:
                break
            obj = self.cache.get(kind, Key(self.key.namespace if kind.namespaced else "", owner.name))
        return found


CURRENT: Final[ContextVar[Work | None]] = ContextVar("work", default=None)
